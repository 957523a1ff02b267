"""A trial as plain data."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from racktwin.planning.trial import Trial
from racktwin.serving.sample import Spread


def record(one: Trial) -> dict[str, Any]:
    """Rates of one copy, requests/s; latencies in s, null where there is none."""
    return {
        "rate": one.rate,
        "requests_per_s": one.served,
        "overloaded": one.overloaded,
        "too_short": one.short,
        "steady_ttft": _plain(one.steady_ttft),
        "steady_tpot": _plain(one.steady_tpot),
        "ttft": _spread(one.ttft),
        "tpot": _spread(one.tpot),
        "cached_share": one.hits,
        "counted": one.counted,
        "refused": one.refused,
    }


def _spread(one: Spread) -> dict[str, float | None]:
    return {name: _plain(value) for name, value in msgspec.structs.asdict(one).items()}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
