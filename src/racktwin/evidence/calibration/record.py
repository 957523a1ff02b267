"""A calibration as plain data for JSON."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from racktwin.evidence.calibration.calibration import Calibration, Scatter
from racktwin.evidence.error import Errors


def record(found: Calibration) -> dict[str, Any]:
    """The answer of `racktwin calibrate --json`; shares and errors are fractions."""
    return {
        "name": found.epoch.name,
        "base": found.base.name,
        "points": found.points.file,
        "rows": len(found.points.rows),
        "unmeasured": found.points.unmeasured,
        "chips": list(found.chips),
        "models": list(found.models),
        "roles": list(found.roles),
        "left_out": found.held,
        "figures": [_figure(each) for each in found.scatter],
        "constants": [
            {
                "name": each.name,
                "unit": each.unit,
                "meaning": each.meaning,
                "shipped": getattr(found.base, each.name),
                "fitted": getattr(found.epoch, each.name),
            }
            for each in found.constants
        ],
        "notes": list(found.points.notes),
    }


def _figure(found: Scatter) -> dict[str, Any]:
    return {
        "figure": found.figure,
        "before": _errors(found.before),
        "after": _errors(found.after),
        "left_out": _errors(found.left_out),
        "interval_low": found.low,
        "interval_high": found.high,
        "shipped_half_width": found.was,
    }


def _errors(found: Errors) -> dict[str, Any]:
    values = msgspec.structs.asdict(found)
    return {
        name: value if not isinstance(value, float) or math.isfinite(value) else None
        for name, value in values.items()
    }
