"""`python -m benchmarks [WORD...]`: measure every benchmark whose name holds one of the words."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import collective, fabric, numerics, power, search, shell, simulate
from benchmarks.registry import Benchmark, NotYet, measure

ALL = [
    *shell.BENCHMARKS,
    *search.BENCHMARKS,
    *simulate.BENCHMARKS,
    *fabric.BENCHMARKS,
    *collective.BENCHMARKS,
    *power.BENCHMARKS,
    *numerics.BENCHMARKS,
]


def main(words: list[str]) -> None:
    """Print one row per benchmark; what does not exist yet is named, not hidden."""
    table = Table(box=None, header_style="")
    for heading in ("benchmark", "phase", "size"):
        table.add_column(heading)
    for heading in ("CPU s", "wall s", "per CPU s"):
        table.add_column(heading, justify="right")
    table.add_column("goal")
    missing = []
    for benchmark in ALL:
        if not words or any(word in benchmark.name for word in words):
            try:
                table.add_row(*_row(benchmark))
            except NotYet as reason:
                missing.append(f"not measured: {benchmark.name}, {benchmark.phase}: {reason}")
    console = Console(width=140, highlight=False)
    console.print(table)
    for line in missing:
        console.print(line)


def _row(benchmark: Benchmark) -> list[str]:
    measured = measure(benchmark)
    rate = f"{measured.rate:,.0f} {measured.work.noun}" if measured.work.count > 1 else ""
    figures = [f"{measured.cpu:.3f}", f"{measured.wall:.3f}", rate]
    return [benchmark.name, benchmark.phase, benchmark.size, *figures, benchmark.goal]


if __name__ == "__main__":
    main(sys.argv[1:])
