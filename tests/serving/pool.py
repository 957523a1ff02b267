"""The kernel run on a few requests, and small worlds to run it in.

Every run passes the same types, so that the kernel is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.batching import Draft
from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules, State, state
from racktwin.serving.kernel import run_round_robin
from racktwin.serving.oracle import Request, Result

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
    decay=0.001,
    least=0.1,
    mixed=True,
    balance=0,
    remote=False,
    ring=1024,
    chunked=True,
    ahead=20,
)


def rules(**changes: Any) -> Rules:
    """A small engine, but for `changes`."""
    return BASE._replace(**changes)


def constant(seconds: float = 1.0) -> Clock:
    """Every step takes `seconds`, whatever it does, and costs 3 J per GPU."""
    none, flat = np.zeros(2), np.zeros((2, 2))
    nothing = np.zeros((2, 2, 2))
    axis = np.array([0.0, 1.0])
    return Clock(
        host=seconds,
        alone=none,
        shared=none,
        work=none,
        decode=np.zeros((4097, 2)),
        decode_work=flat,
        prefill=nothing,
        prefill_work=nothing,
        prompts=axis,
        new=axis,
        behind=axis,
        scale=1.0,
        idle=3.0 / seconds,
        most=1000.0,
    )


def uneven(seed: int = 0, tokens: int = 64, batch: int = 64, context: int = 4096) -> Clock:
    """A clock in which everything matters and no two sums are alike by chance."""
    draw = np.random.default_rng(seed)

    def rising(*shape: int) -> NDArray[np.float64]:
        return np.ascontiguousarray(np.cumsum(draw.uniform(0.1, 1.0, shape), axis=-1) * 1e-3)

    return Clock(
        host=0.01,
        alone=rising(tokens + 1),
        shared=rising(tokens + 1),
        work=rising(tokens + 1),
        decode=rising(batch + 1, context // 256 + 2),
        decode_work=rising(batch + 1, context // 256 + 2),
        prefill=rising(3, 5, 4),
        prefill_work=rising(3, 5, 4),
        prompts=np.array([1.0, 4.0, 16.0]),
        new=np.array([1.0, 4.0, 16.0, 64.0, 256.0]),
        behind=np.array([0.0, 8.0, 64.0, 512.0]),
        scale=1.1,
        idle=0.05,
        most=0.4,
    )


def run(
    asked: Rules, clock: Clock, requests: Sequence[Request], replicas: int = 1, slots: int = 4096
) -> tuple[list[Result], dict[str, float], State]:
    """What the kernel makes of `requests`, by round robin."""
    pool = state(replicas, asked, slots)
    draft = Draft(*(np.zeros(asked.ranks) for _ in range(3)))
    columns = [np.array([each[at] for each in requests], np.int64) for at in (1, 2, 3)]
    arrival = np.array([each.arrival for each in requests], float)
    begin = np.arange(replicas)
    whole = run_round_robin(pool, asked, clock, draft, arrival, *columns, 0, begin, np.inf)
    assert whole
    return results(pool), dict(zip(SUMS, pool.sums.tolist(), strict=True)), pool


def results(pool: State) -> list[Result]:
    """The requests that ended, by number."""
    ended = pool.results[: pool.counts[1]]
    rows = zip(*(ended[name].tolist() for name in Result._fields), strict=True)
    return sorted(Result(*row) for row in rows)
