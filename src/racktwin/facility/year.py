"""A year of a hall, hour by hour: PUE, WUE, what is short and when."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.grid import HOUR, KWH
from racktwin.facility.hall import Hall
from racktwin.facility.loop import Steady, steady
from racktwin.facility.shortage import Shortage, shortages
from racktwin.facility.weather import Weather

Floats = NDArray[np.float64]


class Year(msgspec.Struct, frozen=True, kw_only=True):
    """By hour: it, cooling, losses: W; pue: 1; wue: litres per kWh of IT. state: the loop."""

    hall: Hall
    weather: Weather
    load: float
    state: Steady
    it: Floats
    cooling: Floats
    losses: Floats
    short: tuple[Shortage, ...]

    @property
    def site(self) -> Floats:
        """W at the meter."""
        return self.it + self.cooling + self.losses

    @property
    def hourly_pue(self) -> Floats:
        """Facility over IT power, 1."""
        return self.site / self.it

    @property
    def hourly_wue(self) -> Floats:
        """Litres (kg) of water per kWh of IT."""
        return self.state.water * KWH / self.it

    @property
    def pue(self) -> float:
        """Facility energy over IT energy, 1."""
        return float(self.site.sum() / self.it.sum())

    @property
    def wue(self) -> float:
        """Litres of water per kWh of IT."""
        return float(self.state.water.sum() * KWH / self.it.sum())

    @property
    def energy(self) -> float:
        """J at the meter over all hours."""
        return float(self.site.sum()) * HOUR

    @property
    def litres(self) -> float:
        """Of water over all hours, count."""
        return float(self.state.water.sum()) * HOUR

    @property
    def chilled(self) -> int:
        """Hours in which chillers run for the liquid side, count."""
        side = self.state.liquid or self.state.handled
        return int((side.chiller > 0).sum())

    def monthly(self, values: Floats) -> Floats:
        """Means of hourly values (any unit) by month."""
        counts = np.bincount(self.weather.month, minlength=13)[1:]
        totals = np.bincount(self.weather.month, values, minlength=13)[1:]
        return np.asarray(totals / np.maximum(counts, 1))


def year(hall: Hall, weather: Weather, load: float = 1.0) -> Year:
    """The hall under a weather at a constant load: share of the way from idle to the limit."""
    state = steady(hall, hall.chain.heat(np.full(len(weather), load)), weather)
    it = state.heat.it
    return Year(
        hall=hall,
        weather=weather,
        load=load,
        state=state,
        it=it,
        cooling=state.cooling,
        losses=state.heat.losses,
        short=tuple(shortages(hall, state)),
    )
