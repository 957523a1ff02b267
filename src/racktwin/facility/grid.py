"""Electricity and water where a site does not say."""

from __future__ import annotations

import functools

import msgspec

from racktwin import catalog
from racktwin.units import CarbonIntensity

HOUR = 3600.0  # s
KWH = 1000 * HOUR  # J


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Where a site does not say. carbon: kg/kWh; water: $ per cubic metre."""

    name: str
    title: str
    carbon: CarbonIntensity
    water: float


@functools.cache
def grid() -> Grid:
    """The defaults of the catalog."""
    return catalog.load("defaults", "grid").build(Grid)
