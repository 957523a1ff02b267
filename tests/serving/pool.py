"""The kernel run on a few requests, and small worlds to run it in.

Every run passes the same types, so that the kernel is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving import oracle_pair
from racktwin.serving.clock import Clock
from racktwin.serving.crew import Crew
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle import Request, Result
from racktwin.serving.oracle_crew import Plan
from racktwin.serving.outages import Recovery
from racktwin.serving.pair_runner import Pair
from racktwin.serving.pool import Pool
from racktwin.serving.ragged import Ragged
from racktwin.serving.router import ROUTERS
from racktwin.serving.runner import RoundRobin, Routed, Runner
from racktwin.serving.trace import Trace
from racktwin.serving.window import Window

WATTS = 3.0
BASE = Rules(
    ranks=1,
    max_batch=8,
    budget=16,
    blocks=1000,
    block=4,
    queries=1,
    gain=1.0,
    reserve=0,
    share=0.7,
    decay=0.01,
    least=0.1,
    mixed=True,
    balance=0,
    ring=1024,
    chunked=True,
    ahead=20,
    unit=0,
)


def rules(**changes: Any) -> Rules:
    """A small engine, but for `changes`."""
    return BASE._replace(**changes)


def constant(seconds: float = 1.0, batch: int = 64) -> Clock:
    """Every step takes `seconds`, whatever it does, and its GPU draws `WATTS`."""
    none, axis, cube = np.zeros(2), np.array([0.0, 1.0]), np.zeros((2, 2, 2))
    flat = np.zeros((batch + 1, 2))
    return Clock(
        host=seconds,
        alone=none,
        shared=none,
        work=none,
        decode=flat,
        decode_work=flat,
        prefill=cube,
        prefill_work=cube,
        prompts=axis,
        new=axis,
        behind=axis,
        scale=1.0,
        idle=WATTS,
        most=1000.0,
    )


def uneven(seed: int = 0, tokens: int = 64, batch: int = 64, context: int = 4096) -> Clock:
    """A clock in which everything matters and no two sums are alike by chance."""
    draw = np.random.default_rng(seed)

    def rising(*shape: int) -> NDArray[np.float64]:
        return np.ascontiguousarray(np.cumsum(draw.uniform(0.1, 1.0, shape), axis=-1) * 1e-3)

    cached = context // 256 + 2
    return Clock(
        host=0.01,
        alone=rising(tokens + 1),
        shared=rising(tokens + 1),
        work=rising(tokens + 1),
        decode=rising(batch + 1, cached),
        decode_work=rising(batch + 1, cached),
        prefill=rising(3, 5, 4),
        prefill_work=rising(3, 5, 4),
        prompts=np.array([1.0, 4.0, 16.0]),
        new=np.array([1.0, 4.0, 16.0, 64.0, 256.0]),
        behind=np.array([0.0, 8.0, 64.0, 512.0]),
        scale=1.1,
        idle=0.05,
        most=0.4,
    )


class Run:
    """A finished run. results: by number; sums: by name; pool: as it was left."""

    def __init__(self, pool: Pool, results: list[Result]) -> None:
        self.pool, self.results = pool, sorted(results)
        self.sums = dict(zip(SUMS, pool.state.sums.tolist(), strict=True))

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Prompt tokens and decoding sequences of each step, in order of time."""
        log = self.pool.log
        pairs = zip(log["tokens"].astype(int).tolist(), log["batch"].tolist(), strict=True)
        return [pair for pair, times in zip(pairs, log["steps"], strict=True) for _ in range(times)]


def trace(requests: Sequence[Request], unit: int = 0) -> Trace:
    """The requests as a trace whose ids stand for `unit` tokens each."""
    names = ("arrival", "input", "output", "priority", "after", "pause")
    *columns, ids, images = zip(*requests, strict=True)
    prefix = Ragged.of([np.array(row, np.int64) for row in ids])
    rest = {"encoder": [tokens for tokens, _, _ in images], "block_size": unit}
    return Trace.of(**dict(zip(names, columns, strict=True)), prefix=prefix, **rest)


def pictures(tokens: int) -> tuple[int, float, float]:
    """An image of `tokens` tokens as `encoding` prices it: tokens, s, J."""
    seconds, joules = encoding(np.ones(1, int), np.array([tokens]))
    return tokens, float(seconds[0]), float(joules[0])


def encoding(images: NDArray[Any], tokens: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """s and J of images of so many tokens."""
    return 0.003 * tokens, 0.07 * tokens


class Sink:
    """Takes results of a window's requests, whose ids stand for `unit` tokens each."""

    def __init__(self, unit: int) -> None:
        self.window = Window(lambda input, output: np.ones(len(input), bool), unit, encoding)
        self.results: list[Result] = []

    def __call__(self, ended: NDArray[Any]) -> None:
        columns = [ended[name].tolist() for name in Result._fields]
        self.results.extend(Result(*row) for row in zip(*columns, strict=True))
        self.window.finish[ended["number"]] = ended["finish"]

    def feed(self, runner: Runner, requests: Sequence[Request], cuts: Sequence[float]) -> None:
        """Run `requests`, stopping at the `cuts` (s)."""
        runner.add(self.window.add(trace(requests, self.window.prefixes.unit)))
        for until in cuts:
            for pool in runner.pools.values():
                pool.crew.feed(until)
            runner.run(until)


def crew(replicas: int, plan: Plan) -> Crew:
    """The kernel's own view of a plan."""
    return Crew(
        replicas,
        stages=plan.stages,
        parts=plan.parts,
        first=plan.first,
        scaling=plan.scaling,
        outages=plan.outages,
    )


def run(
    asked: Rules,
    clock: Clock,
    requests: Sequence[Request],
    replicas: int = 1,
    router: str = "round_robin",
    concurrency: int = 0,
    cuts: Sequence[float] = (),
    slots: int = 4096,
    scopes: int = 1,
    plan: Plan | None = None,
    recovery: Recovery | None = None,
    until: float = np.inf,
) -> Run:
    """What the kernel makes of `requests`, stopped and taken up again at the `cuts` (s)."""
    sink = Sink(asked.unit)
    pool = Pool(replicas, asked, clock, slots, scopes, crew(replicas, plan or Plan()))
    pool.room_for_log(4096)
    pool.watch(-np.inf, np.inf)
    policy = ROUTERS.index(router)
    runner: Runner = RoundRobin(pool, sink.window, sink)
    if plan and not recovery:
        recovery = Recovery()
    if concurrency or policy or asked.shared or recovery:
        runner = Routed(pool, sink.window, sink, policy, concurrency, recovery)
    if any(request.after >= 0 for request in requests):
        runner = runner.releasing_turns()
    sink.feed(runner, requests, (*cuts, until))
    return Run(pool, sink.results)


def run_pair(
    prefill: oracle_pair.Pool,
    decode: oracle_pair.Pool,
    requests: Sequence[Request],
    transfer: tuple[float, float],
    concurrency: int = 0,
    cuts: Sequence[float] = (),
    scopes: int = 1,
    recovery: Recovery | None = None,
    until: float = np.inf,
    slots: int = 256,
) -> tuple[list[Result], dict[str, Pool]]:
    """What the kernel makes of `requests` on two pools; transfer: start (s), pace (s/token)."""
    sink = Sink(prefill.rules.unit)
    pools = {
        role: Pool(
            *(each.replicas, each.rules, each.clock, slots, scopes), crew(each.replicas, each.plan)
        )
        for role, each in {"prefill": prefill, "decode": decode}.items()
    }
    runner = Pair(
        pools,
        sink.window,
        sink,
        policy=ROUTERS.index(prefill.router),
        concurrency=concurrency,
        start=transfer[0],
        pace=transfer[1],
        recovery=recovery,
    )
    sink.feed(runner, requests, (*cuts, until))
    return sorted(sink.results), pools
