"""What leaving a point out costs tables: `python tools/leave_out.py [FOLDER]`.

FOLDER holds kernels/ and truth/. Writes evidence/data/held.csv.gz, collectives predicted without
their size, and table_intervals.yaml: 80 % of measured over predicted, by operator or collective,
for each chip from the tables of the others; by MLPerf scenario.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collectives import held
from racktwin.evidence import validation
from racktwin.evidence.data import HERE
from racktwin.evidence.error import quantiles
from racktwin.evidence.validation import held_size
from racktwin.evidence.validation.point import Validation
from racktwin.network.fabric import nccl
from racktwin.network.volume import OPERATIONS

FILE = HERE / "table_intervals.yaml"
SHARED = Path(__file__).parents[2] / "shared"
SETS = {  # by which trait errors are told apart, and of what the own ones do not count
    "kernels": ("operator", "chip"),
    "collectives": ("operation", "chip"),
    "mlperf": ("scenario", "scenario"),
}
Ratios = dict[str, dict[str, list[NDArray[np.float64]]]]


def main() -> None:
    """Validate, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED)
    print(f"{held.write(parser.parse_args().folder, HERE / held_size.FILE):,} sizes left out")
    lines = [
        "# Written by tools/leave_out.py: 80 % of measured over predicted where the table lacks",
        "# the point; without: the chip whose own rows do not count.",
        "kinds:",
    ]
    for name, traits in SETS.items():
        check: Callable[[], Validation] = getattr(validation, name)
        for operator, chips in sorted(_ratios(check(), *traits).items()):
            lines += _lines(name, operator, chips)
    lines += _rules()
    FILE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print("\n".join(lines))


def _ratios(found: Validation, trait: str, other: str) -> Ratios:
    """Measured over predicted (1) of points left out, by two traits.

    Nothing of an MLPerf result was fitted; every run of a configuration counts, since their
    spread is part of the error.
    """
    ratios: Ratios = defaultdict(lambda: defaultdict(list))
    results = found.set == "mlperf"
    for point in found.points:
        if trait not in point.traits or (point.repeated and not results):
            continue
        part = ratios[point.traits[trait]][point.traits[other]]
        if results:
            part += [np.array([v.measured / v.value]) for v in point.values if v.measured]
        for many in point.many.values():
            known = np.isfinite(many.held) & (many.held > 0)
            part.append(many.measured[known] / many.held[known])
        for value in point.values:
            if value.held and value.measured and not value.doubt:
                part.append(np.array([value.measured / value.held.value]))
    return ratios


def _lines(name: str, operator: str, chips: dict[str, list[NDArray[np.float64]]]) -> Iterator[str]:
    for chip in ("", *sorted(chips)):
        parts = [each for other, found in chips.items() if other != chip for each in found]
        values = np.concatenate([np.zeros(0), *parts])
        if not len(values):
            continue
        low, high = quantiles(values)
        without = f"without: {chip}, " if chip else ""
        yield (
            f"  - {{set: {name}, name: {operator}, {without}"
            f"low: {low:.3f}, high: {high:.3f}, rows: {len(values)}}}"
        )


def _rules() -> Iterator[str]:
    """Rank counts nobody measured: a rule's errors on rank counts it was fitted without.

    Twice as much across domains, which is assumed: hardly anybody published any.
    """
    rules = nccl().rules
    for operation in OPERATIONS:
        found = [each[operation].error for each in rules.values() if operation in each]
        off = max((error.held_p90 for error in found if error), default=0.0)
        for name, times in ((f"{operation} by rule", 1), (f"{operation} across domains", 2)):
            if off:
                low, high = 1 / (1 + times * off), 1 + times * off
                ends = f"low: {low:.3f}, high: {high:.3f}"
                yield f"  - {{set: collectives, name: {name}, {ends}, rows: 0}}"


if __name__ == "__main__":
    main()
