"""The fabric: shown from a new shell, a permutation, the rates of many flows at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.registry import Benchmark, Work
from benchmarks.shell import printed
from racktwin import hardware
from racktwin.network.contention import contend
from racktwin.network.demand import Demand, Service
from racktwin.network.filling import fill
from racktwin.network.health import Health
from racktwin.network.links import Links
from racktwin.network.problem import ACTIVE, workspace
from racktwin.network.route import routes
from racktwin.network.routing import Routing, efficiency
from racktwin.network.topology import Topology
from racktwin.network.traffic_file import read_traffic

PERMUTATION = Path(__file__).parents[1] / "examples/fabric/permutation.yaml"
FLOWS, RACKS = 200_000, 1400


def _shown() -> Work:
    printed("fabric", "show", "azure-nd-gb300-v6", "--racks", str(RACKS))
    return Work(1, "run")


def _permutations() -> Callable[[], Work]:
    asked = read_traffic(PERMUTATION)

    def run() -> Work:
        for routing in ("static", "adaptive"):
            contend(msgspec.structs.replace(asked, routing=routing))
        return Work(2, "runs")

    return run


def _rates(routing: Routing) -> Callable[[], Work]:
    """Between random GPUs of different racks: paths, classes, fair rates."""
    links = Links(Health(Topology(hardware.cluster("azure-nd-gb300-v6"))), routing)
    rng = np.random.default_rng(0)
    source = rng.integers(0, links.topology.gpus, FLOWS)
    away = rng.integers(links.topology.domain, links.topology.gpus - links.topology.domain, FLOWS)
    target = (source + away) % links.topology.gpus
    service = Service(efficiency(routing, "many"))

    def run() -> Work:
        made = Demand(links)
        for rows, flows in routes(links, source, target, np.arange(FLOWS)):
            if len(flows):
                made.add_paths(0, rows, np.full(len(rows), 1e6), np.zeros(len(rows)), service)
        problem, _ = made.problem()
        work = workspace(problem, 1)
        work.active[:], work.state[:] = np.arange(len(problem.size)), ACTIVE
        fill(problem, work, len(problem.size), 1)
        return Work(FLOWS, "flows")

    return run


BENCHMARKS = [
    Benchmark(
        name="racktwin fabric show",
        phase="new shell",
        size=f"{RACKS * 72:,} GPUs",
        run=_shown,
        goal="1 s wall",
    ),
    Benchmark(
        name="fabric.permutation",
        phase="static and adaptive",
        size="128 nodes, 4 MB",
        run=_permutations(),
        goal="10 ms",
        repeats=5,
    ),
    *(
        Benchmark(
            name="fabric.rates",
            phase=routing,
            size=f"{FLOWS:,} flows at once, 4,608 GPUs, 9,216 cables",
            run=_rates(routing),
            goal="0.2 s",
            repeats=5,
        )
        for routing in ("static", "adaptive")
    ),
]
