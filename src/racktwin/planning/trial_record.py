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
        "ttft": _spread(one.ttft),
        "tpot": _spread(one.tpot),
        "cached_share": one.hits,
        "counted": one.counted,
        "refused": one.refused,
    }


def _spread(one: Spread) -> dict[str, float | None]:
    plain = msgspec.structs.asdict(one)
    return {name: value if math.isfinite(value) else None for name, value in plain.items()}
