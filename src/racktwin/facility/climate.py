"""Climates: monthly normals, and a typical year drawn from them."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.air import humidity_at, pressure_at, wet_bulb
from racktwin.facility.weather import MONTHS, Weather
from racktwin.finding import BadInput, Finding
from racktwin.units import Metres

Floats = NDArray[np.float64]
WARMEST = 15.0  # hour of the day, in the mean over places and seasons
DAYS, HOURS = 365, 24
SEED = 2020  # the same year for everybody
PLAUSIBLE = {
    "mean": (-60.0, 50.0),
    "dew": (-70.0, 40.0),
    "range": (0.0, 40.0),
    "spread": (0.0, 15.0),
}


class Climate(msgspec.Struct, frozen=True, kw_only=True):
    """Normals, January to December. mean, dew: daily mean and dew point, °C; altitude: m.

    range: K between the mean daily maximum and minimum; spread: standard deviation of daily means,
    K; memory: correlation of neighbouring days' deviations, 0..1.
    """

    title: str
    altitude: Metres
    mean: tuple[float, ...]
    range: tuple[float, ...]
    dew: tuple[float, ...]
    spread: tuple[float, ...]
    memory: float


def read_climate(name: str) -> Climate:
    """A climate of the catalog or of a file; BadInput with every fault."""
    entry = catalog.load("climates", name)
    found = entry.build(Climate, ("kind", "source", "note", "name"))
    faults = []
    for key, (low, high) in PLAUSIBLE.items():
        row, line = getattr(found, key), entry.node.value[key].line
        if len(row) != len(MONTHS):
            faults.append(Finding(key, f"expected 12 months, found {len(row)}", line))
        elif bad := [each for each in row if not low <= each <= high]:
            text = f"{bad[0]:g} is out of range; expected {low:g} to {high:g}"
            hint = ": is it in °F?" if key in ("mean", "dew") and bad[0] > high else ""
            faults.append(Finding(key, text + hint, line))
    if not 0 <= found.memory < 1:
        line = entry.node.value["memory"].line
        faults.append(Finding("memory", f"expected 0 to below 1, found {found.memory:g}", line))
    if faults:
        raise BadInput(faults, entry.node.file)
    return found


def typical_year(climate: Climate) -> Weather:
    """8,760 hours whose months have exactly the means and mean daily ranges of the climate.

    A day's mean deviates by a first-order random walk that forgets; the day itself is a cosine.
    """
    day_month = np.repeat(np.arange(12), MONTHS)
    drift = _drift(climate, day_month)
    mean = _smooth(climate.mean, day_month) + drift
    mean += _correction(mean, climate.mean, day_month)
    dew = _smooth(climate.dew, day_month) + drift
    dew += _correction(dew, climate.dew, day_month)
    swing = np.asarray(climate.range)[day_month] / 2
    phase = 2 * np.pi * (np.arange(HOURS) + 0.5 - WARMEST) / HOURS
    top = np.cos(phase).max()  # of the 24 values, so that their range is that of the climate
    dry = (mean[:, None] + swing[:, None] * np.cos(phase)[None, :] / top).ravel()
    pressure = np.full(len(dry), pressure_at(climate.altitude))
    humidity = humidity_at(np.minimum(np.repeat(dew, HOURS), dry), dry)
    return Weather(
        title=climate.title,
        origin="a typical year drawn from monthly normals",
        dry=dry,
        wet=wet_bulb(dry, humidity, pressure),
        pressure=pressure,
        month=np.repeat(day_month, HOURS) + 1,
    )


def _drift(climate: Climate, day_month: NDArray[np.int64]) -> Floats:
    """Deviation of each day's mean, K."""
    noise = np.random.default_rng(SEED).standard_normal(DAYS)
    fresh = np.sqrt(1 - climate.memory**2)
    state, found = 0.0, np.empty(DAYS)
    for day, each in enumerate(noise):
        state = climate.memory * state + fresh * each
        found[day] = state
    return np.asarray(found * np.asarray(climate.spread)[day_month])


def _smooth(row: tuple[float, ...], day_month: NDArray[np.int64]) -> Floats:
    """Monthly values (any unit) laid through the middles of the months, around the year."""
    edges = np.cumsum((0, *MONTHS))
    middles = (edges[:-1] + edges[1:]) / 2
    days = np.arange(len(day_month)) + 0.5
    return np.asarray(np.interp(days, middles, row, period=float(DAYS)))


def _correction(found: Floats, wanted: tuple[float, ...], day_month: NDArray[np.int64]) -> Floats:
    """What makes the monthly means of `found` (any unit) those wanted."""
    means = np.bincount(day_month, found) / np.bincount(day_month)
    return np.asarray((np.asarray(wanted) - means)[day_month])
