"""A validation as plain data for JSON, and its points as CSV."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from racktwin.evidence.validation.point import Validation
from racktwin.evidence.validation.tally import Group, Summary, Tally


def record(validation: Validation, found: Summary) -> dict[str, Any]:
    """The answer of `racktwin validate SET --json`; shares and errors are fractions."""
    return {
        "set": validation.set,
        "source": validation.source,
        "rows": len(validation.points),
        "answered": found.everything.answered,
        "refused": found.refused,
        "doubted": found.doubted,
        "repeated": found.repeated,
        "all": _figures(found.everything),
        "trusted": _figures(found.trusted),
        "apart": [_group(each) for each in found.apart],
        "groups": [_group(each) for each in found.groups],
        "reasons": [{"reason": text, "rows": count} for text, count in found.reasons],
        "notes": list(validation.notes),
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "by": group.by,
        "name": group.name,
        "rows": group.rows,
        "answered": group.answered,
        "figures": _figures(group),
    }


def _figures(group: Group) -> list[dict[str, Any]]:
    return [_tally(each) for each in group.figures]


def _tally(tally: Tally) -> dict[str, Any]:
    found = tally.errors
    return {
        "figure": tally.figure,
        "scored": found.count,
        "mean": _finite(found.mean),
        "median": _finite(found.median),
        "p90": _finite(found.p90),
        "bias": _finite(found.bias),
        "coverage": _finite(tally.coverage),
        "width": _finite(tally.width),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def points_csv(validation: Validation) -> str:
    """Every row as given, with the columns of its prediction behind it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*validation.header, *validation.added])
    for point in validation.points:
        given = [point.cells.get(name, "") for name in validation.header]
        writer.writerow([*given, *(point.columns.get(name, "") for name in validation.added)])
    return text.getvalue()
