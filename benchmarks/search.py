"""Candidates priced per CPU second, in a process that has its tables loaded."""

from __future__ import annotations

import importlib

from benchmarks.registry import Benchmark, NotYet, Work


def _price_candidates() -> Work:
    try:
        search = importlib.import_module("racktwin.planning.search")
    except ModuleNotFoundError as missing:
        raise NotYet(f"no module {missing.name}") from None
    raise NotYet(f"{search.__name__} has no benchmark yet")


BENCHMARKS = [
    Benchmark(
        name="planning.search",
        phase="price candidates",
        size="deepseek-r1, 4,608 GPUs",
        run=_price_candidates,
        goal="5,000 candidates per CPU s",
    ),
]
