"""The place a cluster stands in."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Ratio
from racktwin.units import CarbonIntensity, Tariff


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """electricity: $/kWh; pue: facility power over IT power; weather: a climate, or an EPW file.

    carbon: kilograms of CO2 per kWh; None for the catalog's default.
    """

    electricity: Tariff
    pue: Ratio
    weather: str | None = None
    carbon: CarbonIntensity | None = None
