"""A loss of cooling on one screen, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.facility.transient import Transient

NAMES = {
    "junction_target": "a GPU reaches its target",
    "junction_throttle": "GPUs throttle",
    "return_limit": "coolant return beyond the racks' limit",
    "inlet_limit": "coolant supply beyond the racks' limit",
}
SHOWN = (0.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
ROWS = ("junction", "back", "supply", "water")
TITLES = {"back": "return"}


def screen(found: Transient) -> Iterator[RenderableType]:
    """When limits are reached, and temperatures at some times."""
    cluster, plant = found.hall.cluster, found.hall.plant
    yield Text.assemble((cluster.name, "bold"), f"   without {found.lost}   {plant.title}")
    yield ""
    for name, words in NAMES.items():
        at = found.reached[name]
        when = f"after {at:,.1f} s" if at is not None else f"not within {found.times[-1]:,.0f} s"
        yield Text(f"{words}: {when}", "bold red" if name == "junction_throttle" and at else "")
    yield ""
    last = float(found.times[-1])
    times = [*(each for each in SHOWN if each < last), last]
    heads = tuple(f"{each:,.0f} s" for each in times)
    made = table("", *heads, title="°C", right=heads)
    for name in ROWS:
        row = np.interp(times, found.times, getattr(found, name))
        made.add_row(TITLES.get(name, name), *(f"{each:.1f}" for each in row))
    yield made


def record(found: Transient) -> dict[str, Any]:
    """Schema racktwin/power-lose/1: s and °C; a point each second."""
    every = slice(None, None, 10)
    return {
        "cluster": found.hall.cluster.name,
        "plant": found.hall.plant.name,
        "lost": found.lost,
        "reached_s": dict(found.reached),
        "times_s": list(map(float, found.times[every])),
        **{name: list(map(float, getattr(found, name)[every])) for name in ROWS},
    }
