"""The place a cluster stands in."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Ratio
from racktwin.units import Tariff


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """electricity: $/kWh; pue: facility power over IT power; weather: path of an EPW file."""

    electricity: Tariff
    pue: Ratio
    weather: str | None = None
