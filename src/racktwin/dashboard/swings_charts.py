"""Charts of swings: power over time, and its spectrum."""

from __future__ import annotations

import numpy as np

from racktwin.dashboard.curves import curves
from racktwin.facility.pattern import TICK
from racktwin.facility.spectrum import spectrum
from racktwin.facility.swings import Swings, running

POINTS = 700  # of a curve
MOST_HZ = 20.0
BIN = 0.25  # Hz


def course_chart(found: Swings, begin: float, end: float, of: str = "site") -> str:
    """Power from `begin` to `end` s, of the site or of one rack."""
    scale, unit = (1e6, "MW") if of == "site" else (1e3, "kW")
    low, high = round(begin / TICK), round(end / TICK)
    every = max(1, (high - low) // POINTS)
    time = (np.arange(low, high, every) - low) * TICK
    rows = {}
    for each in found.variants:
        watts = each.rack if of == "rack" else each.site
        rows[each.name] = (watts[low:high:every] / scale).tolist()
    label = "at the meter" if of == "site" else "of a rack"
    return curves(time.tolist(), rows, across="time, s", up=f"power {label}, {unit}")


def spectrum_chart(found: Swings) -> str:
    """Swings at the meter while the job runs: root mean square kW in each quarter of a hertz."""
    edges = np.arange(0.0, MOST_HZ + BIN, BIN)
    rows = {}
    for each in found.variants:
        step = found.step if found.kind.together else 0.0
        frequency, size = spectrum(running(each.site, step))
        power = np.histogram(frequency, edges, weights=size**2)[0]
        rows[each.name] = (np.sqrt(power) / 1e3).tolist()
    middles = ((edges[1:] + edges[:-1]) / 2).tolist()
    up = "swings at the meter, rms kW in 0.25 Hz"
    return curves(middles, rows, across="frequency, Hz", up=up)
