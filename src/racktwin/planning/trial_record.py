"""A trial as plain data."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from racktwin.planning.slo import LATENCIES
from racktwin.planning.trial import Trial
from racktwin.serving.limits import Limits
from racktwin.serving.sample import Spread


def record(one: Trial) -> dict[str, Any]:
    """Rates of one copy, requests/s; latencies in s, null where there is none."""
    return {
        "rate": one.rate,
        "requests_per_s": one.served,
        "good_share": one.attained,
        "overloaded": one.overloaded,
        "too_short": one.short,
        "steady_ttft": _plain(one.steady_ttft),
        "steady_tpot": _plain(one.steady_tpot),
        **{name: _spread(getattr(one, name)) for name in LATENCIES},
        "cached_share": one.hits,
        "counted": one.counted,
        "refused": one.refused,
    }


def limits(given: Limits) -> dict[str, float | None]:
    """Limits of a request, s; null where there is none."""
    return {name: _plain(value) for name, value in msgspec.structs.asdict(given).items()}


def _spread(one: Spread) -> dict[str, float | None]:
    return {name: _plain(value) for name, value in msgspec.structs.asdict(one).items()}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
