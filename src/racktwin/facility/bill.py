"""What a year of a hall costs to run: electricity by hour, water, carbon."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.grid import HOUR, KWH, grid
from racktwin.facility.year import Year

Floats = NDArray[np.float64]
LITRES = 1000.0  # of a cubic metre


class Bill(msgspec.Struct, frozen=True):
    """Of all hours. energy: kWh; electricity, water: $; carbon: kg; litres: of water, count.

    paid: hours with a negative price, count.
    """

    energy: float
    electricity: float
    water: float
    carbon: float
    litres: float
    paid: int


def bill(year: Year, prices: Floats, carbon: Floats) -> Bill:
    """prices: $/kWh of each hour; carbon: kilograms per kWh of each."""
    kwh = year.site * HOUR / KWH
    return Bill(
        energy=float(kwh.sum()),
        electricity=float((kwh * prices).sum()),
        water=year.litres / LITRES * grid().water,
        carbon=float((kwh * carbon).sum()),
        litres=year.litres,
        paid=int((prices < 0).sum()),
    )
