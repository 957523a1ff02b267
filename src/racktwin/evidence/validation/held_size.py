"""Collectives predicted by a curve or an exchange that was fitted without their size.

data/held.csv.gz is written by tools/leave_out.py.
"""

from __future__ import annotations

import re
from functools import cache

from racktwin.evidence.data import HERE
from racktwin.evidence.table import rows

FILE = "held.csv.gz"
PART = re.compile(r"(\w+) (prepare|dispatch|combine) (\w+)")


@cache
def _held() -> dict[tuple[str, ...], float]:
    names = ("table", "system", "operation", "ranks", "size")
    found = rows(HERE / FILE, (*names, "held_us"))
    return {tuple(row[name] for name in names): float(row["held_us"]) for _, row in found}


def held_curve(system: str, operation: str, ranks: int, size: float) -> float | None:
    """Seconds times a million of `size` bytes by the curve of the other sizes; None off it."""
    return _held().get(("nccl", system, operation, f"{ranks}", f"{size:.0f}"))


def held_exchange(evidence: str, system: str, ranks: int, size: str) -> float | None:
    """Seconds times a million of the phases in `evidence`, without their size; None off them."""
    parts = [PART.fullmatch(each) for each in evidence.split(" + ")]
    found = [
        _held().get((part[1], system, f"{part[2]} {part[3]}", f"{ranks}", size)) if part else None
        for part in parts
    ]
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(parts) else None
