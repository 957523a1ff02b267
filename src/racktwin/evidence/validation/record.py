"""A validation as plain data for JSON, and its points as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from racktwin.evidence.error import Errors
from racktwin.evidence.validation.point import Validation
from racktwin.evidence.validation.tally import Group, Noise, Summary, Tally


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
        "unscored": validation.unscored,
        "all": _figures(found.everything),
        "trusted": _figures(found.trusted),
        "apart": [_group(each) for each in found.apart],
        "noise": [_noise(each) for each in found.noise if each.configurations],
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
    held = _errors(tally.held)
    return {
        "figure": tally.figure,
        "scored": tally.errors.count,
        **_errors(tally.errors),
        **{f"held_{name}": value for name, value in held.items()},
        "coverage": _finite(tally.coverage),
        "width": _finite(tally.width),
    }


def _errors(found: Errors) -> dict[str, float | None]:
    names = ("mean", "median", "p90", "bias", "log_p90")
    return {name: _finite(getattr(found, name)) for name in names}


def _noise(noise: Noise) -> dict[str, Any]:
    found = noise.errors
    return {
        "figure": noise.figure,
        "configurations": noise.configurations,
        "runs": found.count,
        "mean": _finite(found.mean),
        "p90": _finite(found.p90),
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


def table_csv(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with the columns of the first as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
