"""Collectives over the whole machine: one size, and the table of nccl-tests."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.registry import Benchmark, Work
from racktwin import hardware
from racktwin.network.asked import TABLE
from racktwin.network.expectation import Question, expect

RANKS = 4608


def _expected(operation: str, *sizes: float) -> Callable[[], Work]:
    def run() -> Work:
        cluster = hardware.cluster("azure-nd-gb300-v6")
        question = Question(operation=operation, place=cluster.place(RANKS), cluster=cluster)
        expect(question, sizes)
        return Work(len(sizes), "sizes")

    return run


BENCHMARKS = [
    *(
        Benchmark(
            name="collective",
            phase=operation.replace("_", "-"),
            size=f"1 GB, {RANKS:,} ranks",
            run=_expected(operation, 1e9),
            goal="50 ms CPU",
            repeats=5,
        )
        for operation in ("all_reduce", "all_to_all")
    ),
    Benchmark(
        name="collective",
        phase="table of nccl-tests",
        size=f"{len(TABLE)} sizes, {RANKS:,} ranks",
        run=_expected("all_reduce", *TABLE.tolist()),
        goal="0.5 s",
        repeats=5,
    ),
]
