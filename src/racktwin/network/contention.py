"""Jobs on a fabric together, and each alone: when they end, and what the others cost them."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.network.demand import Demand
from racktwin.network.flow import Run, run
from racktwin.network.health import Health
from racktwin.network.latency import round_trips
from racktwin.network.links import Links
from racktwin.network.problem import Floats, Problem
from racktwin.network.tier import NIC_OUT
from racktwin.network.topology import Topology
from racktwin.network.traffic import Job, Traffic, demand

Mask = npt.NDArray[np.bool_]
ENOUGH = 1 - 1e-9  # a job is not faster than its links, but for rounding


class JobOutcome(msgspec.Struct, frozen=True):
    """One job.

    flows: count, of one repetition of a collective; bytes: B its NICs send.
    start, finish: s, the acknowledgement included.
    alone: s it takes without the others; floor: s its fullest link takes at line rate.
    first, middle, last: s its flows took (of a collective, its repetitions): least, median, most.
    """

    job: Job
    flows: int
    bytes: float
    start: float
    finish: float
    alone: float
    floor: float
    first: float
    middle: float
    last: float

    @property
    def seconds(self) -> float:
        """Time from start to finish, s."""
        return self.finish - self.start

    @property
    def slowdown(self) -> float:
        """Times (ratio) as long as alone."""
        return self.seconds / self.alone

    @property
    def flow_rate(self) -> float:
        """B/s of the median flow; of a collective, its size over the time (algbw)."""
        return self.job.size / self.middle


class Contention(msgspec.Struct, frozen=True):
    """All jobs together.

    busiest: links with the highest share (fraction) of the bytes they could carry in all the time.
    draws: s each job took under other draws of the hashes of paths.
    """

    traffic: Traffic
    links: Links
    jobs: tuple[JobOutcome, ...]
    run: Run
    seconds: float
    busiest: tuple[tuple[str, float], ...]
    classes: int
    draws: tuple[tuple[float, ...], ...] = ()


def contend(traffic: Traffic, draws: int = 1) -> Contention:
    """Run the jobs together and alone; more draws (count) of hashes repeat the first of these."""
    links = Links(Health(Topology(traffic.cluster), traffic.faults), traffic.routing)
    every = tuple(range(len(traffic.jobs)))
    made = demand(traffic, links, every)
    problem, done = _run(traffic, made)
    alone = _alone(traffic, links, every, problem, done)
    took = _took(made, problem, done, traffic)
    jobs = tuple(
        _outcome(traffic.jobs[one], made, problem, done, took, one, alone[one]) for one in every
    )
    end = float(done.finish.max())
    begin = float(problem.start.min())
    return Contention(
        traffic=traffic,
        links=links,
        jobs=jobs,
        run=done,
        seconds=end - begin,
        busiest=_busiest(links, problem, done, end - begin),
        classes=len(problem.size),
        draws=_drawn(traffic, links, every, draws),
    )


def _run(traffic: Traffic, made: Demand) -> tuple[Problem, Run]:
    problem, used = made.problem()
    dead = np.flatnonzero(problem.line == 0)
    if len(dead):
        names = ", ".join(made.links.name(int(each)) for each in used[dead[:4]])
        raise BadInput([Finding("ranks", f"nothing is left of {names}")], "faults")
    return problem, run(made, traffic.control, traffic.isolated)


def _alone(
    traffic: Traffic, links: Links, every: tuple[int, ...], problem: Problem, done: Run
) -> list[float]:
    """Time of each job without the others, s."""
    found = []
    for one in every:
        made = demand(traffic, links, (one,))
        own = (problem, done) if len(every) == 1 else _run(traffic, made)
        found.append(_span(made, *own, traffic, one))
    return found


def _drawn(
    traffic: Traffic, links: Links, every: tuple[int, ...], draws: int
) -> tuple[tuple[float, ...], ...]:
    """Times of each job under other draws of the hashes, s."""
    if draws < 2:
        return ()
    rows = []
    for draw in range(draws):
        made = demand(traffic, links, every, draw)
        own = _run(traffic, made)
        rows.append([_span(made, *own, traffic, one) for one in every])
    return tuple(tuple(column) for column in zip(*rows, strict=True))


def _took(made: Demand, problem: Problem, done: Run, traffic: Traffic) -> Floats:
    """Time of each class, its acknowledgement included, s."""
    delay = round_trips(problem, traffic.cluster)
    return np.asarray(done.finish - problem.start + delay)


def _span(made: Demand, problem: Problem, done: Run, traffic: Traffic, one: int) -> float:
    """Time from the first start to the last end of a job, s."""
    mine = made.job == one
    took = _took(made, problem, done, traffic)[mine]
    start = problem.start[mine]
    return float((start + took).max() - start.min())


def _outcome(
    job: Job, made: Demand, problem: Problem, done: Run, took: Floats, one: int, alone: float
) -> JobOutcome:
    mine = np.flatnonzero(made.job == one)
    own, start, weight = took[mine], problem.start[mine], made.flows[mine]
    order = np.argsort(own, kind="stable")
    reached = np.cumsum(weight[order])
    asked = _asked(problem, made.job == one)
    floor = float((asked / problem.line).max())
    finish = float((start + own).max())
    assert finish - start.min() >= floor * ENOUGH, "a job faster than its links"
    return JobOutcome(
        job=job,
        flows=made.counts[one],
        bytes=float(asked[problem.tier == NIC_OUT].sum()),
        start=float(start.min()),
        finish=finish,
        alone=alone,
        floor=floor,
        first=float(own.min()),
        middle=float(own[order[np.searchsorted(reached, reached[-1] / 2)]]),
        last=float(own.max()),
    )


def _asked(problem: Problem, mine: Mask) -> Floats:
    """Bytes that some of the classes put on each link."""
    classes = np.repeat(np.arange(len(problem.size)), np.diff(problem.head))
    own = mine[classes]
    sent = (problem.share * problem.size[classes])[own]
    return np.asarray(np.bincount(problem.link[own], sent, minlength=len(problem.line)), np.float64)


def _busiest(
    links: Links, problem: Problem, done: Run, seconds: float
) -> tuple[tuple[str, float], ...]:
    """The five links that worked most."""
    share = done.carried / (problem.line * seconds)
    most = np.argsort(-share, kind="stable")[:5]
    return tuple((links.name(int(done.used[each])), float(share[each])) for each in most)
