"""What is asked of a fabric: jobs, each a pattern of flows or a collective, and their routing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec
import numpy as np

from racktwin.hardware import Cluster
from racktwin.network.demand import Demand, Service
from racktwin.network.fault import Fault
from racktwin.network.links import Links
from racktwin.network.load import COLLECTIVES, step
from racktwin.network.pattern import PATTERNS
from racktwin.network.problem import Ints
from racktwin.network.route import routes
from racktwin.network.routing import Control, Kind, Routing, efficiency

Pattern = Literal[
    "permutation", "pairs", "random", "incast", "transfer",
    "all_to_all", "all_reduce", "all_gather", "reduce_scatter",
]  # fmt: skip
NAMES: tuple[Pattern, ...] = get_args(Pattern)
MANY = ("random", *COLLECTIVES)  # patterns in which a sender has many receivers, or a plan


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant's traffic.

    gpus, to: senders (all ranks of a collective), and receivers where a pattern has them.
    size: B of each flow; of a rank's buffer in a collective. start: s; over: s within which random
    flows start. repeat, every: how often, s from start to start. flows: count of random flows.
    level, priority, weight (ratio): service level, see `Service`.
    """

    name: str
    pattern: Pattern
    gpus: Ints
    to: Ints
    size: float
    start: float = 0.0
    over: float = 0.0
    repeat: int = 1
    every: float = 0.0
    flows: int = 0
    level: int = 0
    priority: int = 0
    weight: float = 1.0

    @property
    def collective(self) -> bool:
        """Whether all ranks move in step."""
        return self.pattern in COLLECTIVES

    @property
    def kind(self) -> Kind:
        """How many receivers a sender has at a time."""
        return "many" if self.pattern in MANY else "pairs"

    def starts(self) -> Iterator[float]:
        """Start of each repetition, s."""
        return (self.start + turn * self.every for turn in range(self.repeat))


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs on a cluster.

    control, isolated: see `flow.run`. seed: of random patterns and of the hashes of paths.
    """

    cluster: Cluster
    jobs: tuple[Job, ...]
    routing: Routing = "adaptive"
    control: Control = "telemetry"
    isolated: bool = True
    faults: tuple[Fault, ...] = ()
    seed: int = 0


def demand(traffic: Traffic, links: Links, jobs: tuple[int, ...], draw: int = 0) -> Demand:
    """The flows of some of the jobs (index). draw: another draw of the hashes of their paths.

    Who sends to whom depends on the seed and the job alone, so that a job is the same alone.
    """
    made = Demand(links)
    for index in jobs:
        job = traffic.jobs[index]
        service = Service(
            efficiency(traffic.routing, job.kind), job.priority, job.weight, job.level
        )
        seeds = [np.random.default_rng([traffic.seed, index, each]) for each in (0, draw + 1)]
        if job.collective:
            _in_step(made, index, job, service, seeds[1])
        else:
            _flows(made, index, job, service, *seeds)
    return made


def _in_step(
    made: Demand, index: int, job: Job, service: Service, rng: np.random.Generator
) -> None:
    load = step(made.links, job.pattern, job.gpus, job.size, rng)  # type: ignore[arg-type]
    made.counts[index] = load.flows
    for start in job.starts():
        made.add_step(index, load.shares, load.size, start, load.flows, service)


def _flows(
    made: Demand, index: int, job: Job, service: Service, who: np.random.Generator,
    paths: np.random.Generator,
) -> None:  # fmt: skip
    source, target = PATTERNS[job.pattern](job.gpus, job.to, job.flows, who)
    later = who.uniform(0.0, job.over, len(source)) if job.over else np.zeros(len(source))
    lanes = routes(made.links, source, target, paths.integers(0, 1 << 40, len(source)))
    used = np.zeros(len(source))
    for _, flows in lanes:
        used[flows] += 1
    made.counts[index] = len(source) * job.repeat
    for start in job.starts():
        for rows, flows in lanes:
            if len(flows):
                size = job.size / used[flows]
                made.add_paths(index, rows, size, start + later[flows], service)
