"""Weather hour by hour."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.air import pressure_at, wet_bulb

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
