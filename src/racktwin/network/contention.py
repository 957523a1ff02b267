"""Jobs on a fabric together, and each alone: when they end, and what the others cost them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.network.demand import Demand
from racktwin.network.fault import Fault
from racktwin.network.flow import Run, run
from racktwin.network.health import Health
from racktwin.network.latency import round_trips
from racktwin.network.links import Links
from racktwin.network.problem import Floats, Ints, Problem
from racktwin.network.tier import NIC_OUT
from racktwin.network.topology import Topology
from racktwin.network.traffic import Job, Traffic, demand

Mask = npt.NDArray[np.bool_]
ENOUGH = 1 - 1e-9  # a job is not faster than its links, but for rounding
MOST_FAULTS = 50  # that are tried one by one


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

    seconds: s from the first start to the last acknowledgement.
    busiest: links with the highest share (fraction) of the bytes they could carry in all the time.
    idle: faults that touch no link in use.
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
    idle: tuple[Fault, ...] = ()


class _Played(NamedTuple):
    """One run of some jobs: what was asked, what came of it, the time of each class (s)."""

    made: Demand
    problem: Problem
    run: Run
    took: Floats

    def span(self, job: int) -> float:
        """Time from the first start to the last end of a job, s."""
        mine = self.made.job == job
        start = self.problem.start[mine]
        return float((start + self.took[mine]).max() - start.min())


def contend(traffic: Traffic, draws: int = 1) -> Contention:
    """Run the jobs together and alone; more draws (count) of hashes repeat the first of these."""
    links = Links(Health(Topology(traffic.cluster), traffic.faults), traffic.routing)
    every = tuple(range(len(traffic.jobs)))
    together = _play(traffic, links, every)
    jobs = []
    for one in every:
        alone = together if len(every) == 1 else _play(traffic, links, (one,))
        jobs.append(_outcome(traffic.jobs[one], together, one, alone.span(one)))
    begin = together.problem.start
    seconds = float((begin + together.took).max() - begin.min())
    again = []
    for draw in range(draws if draws > 1 else 0):
        played = _play(traffic, links, every, draw)
        again.append([played.span(one) for one in every])
    return Contention(
        traffic=traffic,
        links=links,
        jobs=tuple(jobs),
        run=together.run,
        seconds=seconds,
        busiest=_busiest(together, links, seconds),
        classes=len(together.problem.size),
        draws=tuple(zip(*again, strict=True)),
        idle=_idle(traffic, together.run.used),
    )


def _idle(traffic: Traffic, used: Ints) -> tuple[Fault, ...]:
    """Faults that leave every link in use as it was; the first of them, where there are many."""
    topology = Topology(traffic.cluster)
    whole = Links(Health(topology), traffic.routing).line[used]
    found = []
    for fault in traffic.faults[:MOST_FAULTS]:
        hurt = Links(Health(topology, (fault,)), traffic.routing).line[used]
        if (hurt == whole).all():
            found.append(fault)
    return tuple(found)


def _play(traffic: Traffic, links: Links, which: tuple[int, ...], draw: int = 0) -> _Played:
    made = demand(traffic, links, which, draw)
    problem, used = made.problem()
    dead = np.flatnonzero(problem.line == 0)
    if len(dead):
        names = ", ".join(links.name(int(each)) for each in used[dead[:4]])
        raise BadInput([Finding("ranks", f"nothing is left of {names}")], "faults")
    done = run(made, traffic.control, traffic.isolated)
    took = done.finish - problem.start + round_trips(problem, traffic.cluster)
    return _Played(made, problem, done, took)


def _outcome(job: Job, played: _Played, one: int, alone: float) -> JobOutcome:
    mask = played.made.job == one
    own, start = played.took[mask], played.problem.start[mask]
    order = np.argsort(own, kind="stable")
    reached = np.cumsum(played.made.flows[mask][order])
    asked = _asked(played.problem, mask)
    floor = float((asked / played.problem.line).max())
    finish = float((start + own).max())
    assert finish - start.min() >= floor * ENOUGH, "a job faster than its links"
    return JobOutcome(
        job=job,
        flows=played.made.counts[one],
        bytes=float(asked[played.problem.tier == NIC_OUT].sum()),
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


def _busiest(played: _Played, links: Links, seconds: float) -> tuple[tuple[str, float], ...]:
    """The five links that worked most."""
    share = played.run.carried / (played.problem.line * seconds)
    most = np.argsort(-share, kind="stable")[:5]
    used = played.run.used
    return tuple((links.name(int(used[each])), float(share[each])) for each in most)
