"""The closed loop once more, over all racks of a second at once in numpy: the kernel's oracle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.facility.day_state import (
    FINE,
    LEAST,
    WAITING,
    Floats,
    Hours,
    Ints,
    Rule,
    Sums,
    Words,
    bins_of,
)

SECONDS = 3600


def day(
    cells: Floats,
    bins: Ints,
    rule: Rule,
    hours: Hours,
    seeds: Words,
    racks: Floats,
    hall: Floats,
    row: Floats,
    sums: Sums,
    start: int,
    steps: int,
) -> None:
    """`steps` seconds from `start`; cells, hall, row (any unit) and the rest as for the kernel."""
    edges = np.arange(len(hours.load)) * SECONDS
    for second in range(start, start + steps):
        load = np.interp(second, edges, hours.load)
        sink = np.interp(second, edges, hours.sink)
        water, supply = hall
        limit = min(rule.cap, (rule.throttle - supply) / rule.resistance)
        words = seeds ^ (seeds << np.uint64(13))
        words ^= words >> np.uint64(7)
        words ^= words << np.uint64(17)
        seeds[:] = words
        even = (words >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        racks[:, 0] = rule.keep * racks[:, 0] + rule.fresh * even
        own = np.maximum(0, load * (1 + rule.noise * racks[:, 0]))
        asked = own + racks[:, 1]
        served, gpu, power = _read(cells, rule, asked, limit)
        racks[:, 1] = np.maximum(0, asked - served)
        racks[:, 2] += (supply + gpu * rule.resistance - racks[:, 2]) * rule.warm
        tpot, ttft = _nearest(bins, rule, asked, limit)
        queue = np.where(racks[:, 1] > WAITING, racks[:, 1], 0.0)
        late = bins_of(LEAST * np.exp(ttft / FINE) + queue / np.maximum(served, 1e-12))
        np.add.at(sums.tpot, tpot, served)
        np.add.at(sums.ttft, np.where(queue > 0, late, ttft), served)
        heat = rule.liquid * power.sum() + rule.pumps
        wanted = heat + rule.pull * (water - rule.inlet + rule.approach * heat)
        able = rule.most * max(0.0, water + heat / rule.rate - sink) + rule.chiller
        hall[0] = water + (heat - np.clip(wanted, 0, able)) / rule.water
        hall[1] = supply + (hall[0] + rule.approach * heat - supply) * rule.flush
        held = float(limit < rule.cap and limit < rule.limit_most)
        line = sums.lines[second // rule.bucket]
        more = [1, power.sum(), gpu.mean(), *hall, 0, own.sum(), served.sum(), queue.sum()]
        line += [*more, held, 0]
        line[5] = max(line[5], racks[:, 2].max())
        line[10] = max(line[10], power.sum())


def _read(cells: Floats, rule: Rule, asked: Floats, limit: float) -> NDArray[np.float64]:
    """All figures (any unit) at each rack's load, linear in both axes."""
    axis = np.linspace(0, rule.load_most, cells.shape[1])
    limits = np.linspace(rule.limit_least, rule.limit_most, cells.shape[2])
    held = np.clip(limit, rule.limit_least, rule.limit_most)
    at = min(int(np.searchsorted(limits, held, side="right")) - 1, len(limits) - 2)
    part = (held - limits[at]) / (limits[at + 1] - limits[at])
    rows = cells[:3, :, at] * (1 - part) + cells[:3, :, at + 1] * part
    return np.array([np.interp(asked, axis, each) for each in rows])


def _nearest(bins: Ints, rule: Rule, asked: Floats, limit: float) -> tuple[Ints, Ints]:
    """Bins of TPOT and TTFT of the nearest load at the limit below; asked: 1, limit: W."""
    limits = np.linspace(rule.limit_least, rule.limit_most, bins.shape[0])
    held = np.clip(limit, rule.limit_least, rule.limit_most)
    at = min(int(np.searchsorted(limits, held, side="right")) - 1, len(limits) - 2)
    spot = np.minimum(asked, rule.load_most) / rule.load_most * (bins.shape[1] - 1)
    near = (spot + 1 / 2).astype(int)
    return bins[at, near, 0], bins[at, near, 1]
