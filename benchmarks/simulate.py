"""The serving simulation of the whole cluster: 288 replicas of 16 attention-data ranks.

1,000 tokens in, 200 out, Poisson arrivals; the requests are made up within the time. The first run,
which is not counted, compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.registry import Benchmark, Work
from racktwin.engine.deployment_file import read_deployment
from racktwin.planning.stream_wish import Reader, Wish
from racktwin.serving.outcome import outcome
from racktwin.serving.router import ROUTERS
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served
from racktwin.serving.workload import workload

FILE = Path(__file__).parents[1] / "examples/deepseek-r1-gb300-288xdp16.yaml"
REQUESTS = 1_000_000
CONVERSATION, TURNS = "mooncake-conversation", 2500
HOUR = ("mlperf-deepseek-r1", 0.8)
GOALS = {"round_robin": "1 s CPU", "least_outstanding": "3 s CPU"}


def _run(rate: str, router: str) -> Callable[[], Work]:
    served = Served(read_deployment(FILE)[0])

    def run() -> Work:
        reader = Reader(Wish(input=1000, output=200, rate=rate, requests=REQUESTS))
        reader.order()
        stream, _, expected = reader.stream()
        outcome(simulate(served, stream, Order(router=router, expected=expected)))
        return Work(REQUESTS, "requests")

    return run


def _cached(router: str) -> Callable[[], Work]:
    served = Served(read_deployment(FILE)[0])
    trace = workload(CONVERSATION).trace(TURNS)

    def run() -> Work:
        outcome(simulate(served, iter([trace]), Order(router=router)))
        return Work(TURNS, "requests")

    return run


def _hour() -> Work:
    """One hour at 80 % of what the steady state says the cluster carries."""
    served = Served(read_deployment(FILE)[0])
    name, share = HOUR
    traffic = workload(name).traffic()
    rate = share * float(served.curve(traffic).requests[-1]) * served.deployment.copies
    reader = Reader(Wish(workload=name, duration="1h", rate=f"{rate}/s"))
    reader.order()
    stream, _, expected = reader.stream()
    done = simulate(served, stream, Order(expected=expected))
    return Work(done.finished, "requests")


BENCHMARKS = (
    [
        Benchmark(
            name="simulate",
            phase=router,
            size=f"{REQUESTS:,} requests at {rate}, 4,608 GPUs, percentiles",
            run=_run(rate, router),
            goal=GOALS.get(router, ""),
        )
        for rate in ("2000/s", "20000/s")
        for router in ROUTERS[:2]
    ]
    + [
        Benchmark(
            name="simulate",
            phase=router,
            size=f"{TURNS:,} requests of {CONVERSATION}, prefix cache on, 4,608 GPUs",
            run=_cached(router),
            goal=goal,
        )
        for router, goal in (("least_outstanding", "0.5 s CPU"), ("prefix_aware", ""))
    ]
    + [
        Benchmark(
            name="simulate",
            phase="round_robin",
            size="1 h of mlperf-deepseek-r1 at 80 %, 4,608 GPUs",
            run=_hour,
            goal="60 s wall",
            repeats=1,
        )
    ]
)
