"""Temperatures after a loss of cooling."""

from __future__ import annotations

from racktwin.dashboard.curves import curves
from racktwin.facility.transient import Transient

POINTS = 600


def loss_chart(found: Transient) -> str:
    """Temperatures round the loop over time; the throttle is dashed."""
    every = max(1, len(found.times) // POINTS)
    rows = {
        "junction": found.junction,
        "return": found.back,
        "supply": found.supply,
        "water": found.water,
    }
    shown = {name: list(map(float, row[::every])) for name, row in rows.items()}
    limit = float(found.hall.loop.throttle) if found.hall.loop else None
    times = list(map(float, found.times[::every]))
    return curves(times, shown, across="s after the loss", up="°C", limit=limit)
