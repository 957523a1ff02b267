"""Weather hour by hour: a year of it, made for a climate or read from a file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.air import pressure_at, wet_bulb
from racktwin.finding import BadInput, Finding, unknown

Floats = NDArray[np.float64]
MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """Hours of a year in order. dry, wet: bulb temperatures, °C; pressure: Pa.

    title: of the place; origin: what the figures rest on; month: of each hour, from 1.
    """

    title: str
    origin: str
    dry: Floats
    wet: Floats
    pressure: Floats
    month: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.dry)


def steady(dry: float, humidity: float, altitude: float = 0.0) -> Weather:
    """One hour of a dry bulb in °C at a relative humidity, 0..1, and an altitude in m."""
    at, moist = np.array([dry]), np.array([humidity])
    pressure = np.array([pressure_at(altitude)])
    return Weather(
        title=f"{dry:g} °C, {humidity:.0%} relative humidity",
        origin="given",
        dry=at,
        wet=wet_bulb(at, moist, pressure),
        pressure=pressure,
        month=np.ones(1, dtype=np.int64),
    )


def weather(name: str | Path) -> Weather:
    """The year of a climate ('phoenix', or a YAML file like one), or of an EPW file."""
    from racktwin.facility.climate import read_climate, typical_year
    from racktwin.facility.epw import read_epw

    text = str(name)
    if text.lower().endswith(".epw"):
        return read_epw(text)
    if not catalog.is_path(text) and text.lower() not in catalog.names("climates"):
        known = unknown("--weather", text[:40], catalog.names("climates"))
        hint = f"{known.message}; or a path to an .epw file"
        raise BadInput([Finding("--weather", hint)], "weather")
    return typical_year(read_climate(text))
