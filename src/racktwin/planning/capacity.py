"""Capacity: the load deployments sustain within objectives, and the GPUs a load needs."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.estimate import Estimate
from racktwin.finding import BadInput
from racktwin.planning.choice import errors
from racktwin.planning.packing import copies
from racktwin.planning.part import smallest
from racktwin.planning.plan import plan
from racktwin.planning.prediction import lacking
from racktwin.planning.saturation import Saturation, holds, search
from racktwin.planning.task import Question, Task
from racktwin.planning.trial import Bench, Trial

GROWTH = 100  # copies are added one by one, or by this part of them
MOST_TRIES = 20
Watch = Callable[[str], None]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Copies at work for a load, spare ones, and what all of them take.

    racks: of the cluster's kind. fits: whether its GPUs are enough. trial: at that load.
    """

    copies: int
    spare: int
    gpus: int
    racks: int
    fits: bool
    trial: Trial


class Sustained(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment at the highest load within the objectives.

    one: its smallest copy; copies: there are, spare ones left out; together: that shared a router
    in a trial. rate: requests/s of a copy, 0 where no load is within the objectives; its 80 %
    interval is that of predicted throughput.
    """

    one: Deployment
    copies: int
    together: int
    requests: int
    router: str
    rate: Estimate
    found: Saturation
    need: Need | None

    @property
    def per_gpu(self) -> float:
        """Sustained load, requests/s of a GPU."""
        return self.rate.value / self.one.gpus

    @property
    def whole(self) -> Deployment:
        """All copies: those the rate asked for takes with its spare ones, or all that fit."""
        need = self.need
        copies = need.copies + need.spare if need else self.copies
        return msgspec.structs.replace(self.one, copies=max(1, copies))

    @property
    def enough(self) -> bool:
        """Whether the question has a yes: a load is sustained, and the one asked for fits."""
        return bool(self.rate.value) and (self.need is None or self.need.fits)


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The deployments tried, best first.

    met: whether a plan had finalists, or what came closest was tried. gpus: there are.
    """

    task: Task
    answers: tuple[Sustained, ...]
    met: bool
    gpus: int
    notes: tuple[str, ...]

    @property
    def best(self) -> Sustained:
        """The first of them."""
        return self.answers[0]


def capacity(question: Question, watch: Watch) -> Capacity:
    """Try the deployment, or the finalists of the plan, and rank them."""
    subject, task, met = question.subject, question.task, True
    if isinstance(subject, Deployment):
        gpus, tried = subject.cluster.gpus, [subject]
    else:
        watch("searching layouts")
        found = plan(subject)
        gpus, met = subject.gpus, bool(found.choices)
        tried = [each.deployment for each in found.choices or (found.best,)]
    answers = [sustained(each, gpus, task, watch) for each in tried]
    answers.sort(key=lambda each: _rank(each, task))
    notes = [note for each in answers for trial in each.found.curve for note in trial.notes]
    return Capacity(
        task=task,
        answers=tuple(answers),
        met=met,
        gpus=gpus,
        notes=(*question.notes, *dict.fromkeys(notes)),
    )


def _rank(one: Sustained, task: Task) -> tuple[bool, float]:
    """What serves with fewer GPUs, or more of it, comes first; then what comes closest."""
    if one.need:
        return not one.enough, float(one.need.gpus)
    if one.rate.value:
        return not one.enough, -one.rate.value * one.copies
    over = (slo.excess(one.found.closest) for slo in task.slos)
    return True, max(over, default=0.0)


def sustained(deployment: Deployment, gpus: int, task: Task, watch: Watch) -> Sustained:
    """Find the load; with a rate also the copies for it. gpus: there are at most."""
    one, count = smallest(deployment)
    bench = Bench(
        one,
        task.demand,
        copies=count - task.spare,
        slos=task.slos,
        limits=task.limits,
        requests=task.requests,
        seed=task.seed,
    )
    if faults := list(lacking(bench.served, task.demand.traffic)):
        raise BadInput(faults, one.title)

    def at(rate: float) -> Trial:
        watch(f"{one.title}: {rate * bench.copies:,.4g} requests/s on {bench.copies:,} copies")
        return bench.at(rate)

    found = search(at, bench.guess, bench.top, task.slos)
    value = found.highest.rate if found.highest else 0.0
    need = None
    if task.rate is not None and value:
        need = _need(bench, one, value, gpus, task, watch)
    return Sustained(
        one=one,
        copies=max(0, count - task.spare),
        together=bench.copies,
        requests=bench.requests,
        router=bench.router,
        rate=errors(one)[2].of(value, "requests/s of a copy"),
        found=found,
        need=need,
    )


def _need(bench: Bench, one: Deployment, value: float, gpus: int, task: Task, watch: Watch) -> Need:
    """Copies for the rate asked, tried at it: fewer copies share a router less well."""
    assert task.rate is not None
    count = math.ceil(task.rate / value)
    for _ in range(MOST_TRIES):
        watch(f"{one.title}: {task.rate:,.4g} requests/s on {count:,} copies")
        trial = bench.of(count).at(task.rate / count)
        if holds(trial, task.slos):
            break
        count += max(1, count // GROWTH)
    whole = count + task.spare
    return Need(
        copies=count,
        spare=task.spare,
        gpus=whole * one.gpus,
        racks=_racks(one, whole),
        fits=whole <= copies(_sizes(one), one.cluster, gpus),
        trial=trial,
    )


def _sizes(one: Deployment) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for pool in one.pools.values():
        sizes[pool.layout.gpus] = sizes.get(pool.layout.gpus, 0) + pool.replicas
    return sizes


def _racks(one: Deployment, count: int) -> int:
    """Racks of the cluster's kind that hold `count` copies."""
    cluster, sizes = one.cluster, _sizes(one)
    racks = math.ceil(count * one.gpus / cluster.gpus_per_rack)
    while copies(sizes, cluster, racks * cluster.gpus_per_rack) < count:
        racks += 1
    return racks
