"""What a rack does at a load and under a power limit: served, watts, latencies, as one table.

The load is demand over capacity at full clock, 1. Under a limit the clock is the highest that keeps
it; steps then take longer, batches grow, and beyond what is left of the capacity requests wait.
"""

from __future__ import annotations

import functools

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.clock import at_clock, law, work_of
from racktwin.facility.heat import Draws
from racktwin.units import Fraction

Floats = NDArray[np.float64]
LOADS = np.linspace(0.0, 1.28, 129)
LIMITS = 49
CLOCKS = 41
SERVED, GPU, RACK, TPOT, TTFT = range(5)


class DayLaw(msgspec.Struct, frozen=True, kw_only=True):
    """profile: load of an hour over the peak's; core_busy, core_energy: shares, 0..1."""

    name: str
    title: str
    profile: tuple[float, ...]
    core_busy: Fraction
    core_energy: Fraction


@functools.cache
def day_law() -> DayLaw:
    """As the catalog has it."""
    return catalog.load("defaults", "day").build(DayLaw)


class Load(msgspec.Struct, frozen=True):
    """A deployment over its load. utilisation: served over capacity; gpu: W of one; tpot, ttft: s.

    capacity: requests/s of all copies; share: GPUs of the hall in use, fraction; in_flight:
    requests of a rack at capacity; residence: s that a request stays; output: tokens of one.
    """

    utilisation: Floats
    gpu: Floats
    tpot: Floats
    ttft: Floats
    capacity: float
    share: float
    in_flight: float
    residence: float
    output: float


class ServingTable(msgspec.Struct, frozen=True):
    """cells: [figure, load, limit]: served (share of the capacity), W of a GPU, W of a rack, s, s.

    limits: W of a GPU, rising evenly.
    """

    cells: Floats
    limits: Floats


def serving_table(load: Load, chain: Draws, racks: int, idle: float, tdp: float) -> ServingTable:
    """The table of a deployment on a hall; idle, tdp: W of a GPU."""
    clocks = np.linspace(law().floor, 1.0, CLOCKS)
    busy, energy = float(day_law().core_busy), float(day_law().core_energy)
    speed = 1 / (busy / clocks + 1 - busy)
    asked = LOADS[:, None] / speed[None, :]  # of what is left of the capacity
    used = np.minimum(asked, 1.0)
    full = np.interp(used, load.utilisation, load.gpu)
    work = work_of(np.ones_like(full), busy, energy, np.maximum(full, idle), idle)
    watts = np.minimum(at_clock(work, clocks[None, :]).watts, tdp)
    limits = np.linspace(float(watts.min()), tdp, LIMITS)
    fits = watts[:, None, :] <= limits[None, :, None] * (1 + 1e-9)
    fits[:, :, 0] = True  # at the lowest clock work goes on
    best = CLOCKS - 1 - np.argmax(fits[:, :, ::-1], axis=2)
    rows = np.arange(len(LOADS))[:, None]
    at, slow = used[rows, best], speed[best]
    drawn = load.share * watts[rows, best] + (1 - load.share) * idle
    cells = np.stack(
        [
            np.minimum(LOADS[:, None], slow),
            watts[rows, best],
            np.interp(drawn, chain.gpu, chain.racks / racks),
            np.interp(at, load.utilisation, load.tpot) / slow,
            np.interp(at, load.utilisation, load.ttft) / slow,
        ]
    )
    return ServingTable(np.ascontiguousarray(cells), limits)
