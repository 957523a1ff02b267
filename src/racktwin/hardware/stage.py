"""One stage of a power chain: equal units that pass power on and lose some of it."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.units import Fraction, Watts


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Efficiency (fraction) at a few loads (fractions of the rating), the loads ascending."""

    load: list[Fraction]
    efficiency: list[Fraction]


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Units of one kind between racks and meter; every feed has its own.

    racks: that a unit serves, those of the fabric's switches counted too.
    rating: W a unit may pass on; continuous: share of that it may pass on for hours.
    standing, series: shares of the rating lost at no load, and at the rating on top of that
        (growing with the square of the load); curve: efficiency over load instead of the two.
    """

    name: str
    racks: Count
    rating: Watts
    continuous: Fraction = Fraction(1.0)
    standing: Fraction = Fraction(0.0)
    series: Fraction = Fraction(0.0)
    curve: Curve | None = None

    @property
    def limit(self) -> float:
        """W that a unit may pass on for hours."""
        return self.continuous * self.rating
