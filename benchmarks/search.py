"""The search alone, in a process that has answered one question before.

A candidate is one complete deployment with its memory, TTFT, TPOT and tokens/s at its best load.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.registry import Benchmark, Work
from racktwin.planning.plan import plan
from racktwin.planning.wish import Wish, asks

INPUT, OUTPUT, TPOT = 8192.0, 1024.0, "20ms"


def _plan(model: str, on: str) -> Callable[[], Work]:
    def run() -> Work:
        (ask,) = asks(model, [on], INPUT, OUTPUT, Wish(tpot=TPOT))
        return Work(plan(ask).candidates, "candidates")

    return run


BENCHMARKS = [
    Benchmark(
        name="planning.plan",
        phase="second question",
        size=f"{model}, {on}",
        run=_plan(model, on),
    )
    for model, on in (
        ("deepseek-r1", "azure-nd-gb300-v6"),
        ("llama-3.1-70b", "azure-nd-h100-v5"),
    )
]
