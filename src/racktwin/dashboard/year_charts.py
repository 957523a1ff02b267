"""Charts of a hall through a year: overheads, and temperatures round the loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.dashboard.curves import curves
from racktwin.facility.year import Year
from racktwin.facility.year_record import watts

DAY = 24
ACROSS = "day of the year"


def overhead_chart(year: Year) -> str:
    """Power beyond IT as % of it, by day, in total and by part."""
    parts = watts(year)
    it = _daily(parts.pop("it"))
    rows = {"all of it (PUE - 1)": _daily(year.site) / it - 1}
    rows |= {name.replace("_", " "): _daily(values) / it for name, values in parts.items()}
    shown = {name: list(map(float, 100 * row)) for name, row in rows.items() if row.max() > 0}
    return curves(_days(year), shown, across=ACROSS, up="% of IT power")


def temperature_chart(year: Year) -> str:
    """Temperatures round the loop, daily means in °C."""
    state = year.state
    rows = {"outside": year.weather.dry, "wet bulb": year.weather.wet, "hall air": state.air}
    if year.hall.loop:
        rows |= {"water": state.primary, "supply": state.supply, "return": state.back}
        rows |= {"junction": state.junction}
    shown = {name: list(map(float, _daily(row))) for name, row in rows.items()}
    return curves(_days(year), shown, across=ACROSS, up="°C")


def water_chart(year: Year) -> str:
    """Water by day, cubic metres."""
    daily = _daily(year.state.water) * DAY * 3.6
    return curves(_days(year), {"water": list(map(float, daily))}, across=ACROSS, up="m³ a day")


def _days(year: Year) -> list[float]:
    return [float(each) for each in range(1, max(1, len(year.weather) // DAY) + 1)]


def _daily(values: NDArray[np.float64]) -> NDArray[np.float64]:
    whole = max(1, len(values) // DAY)
    return np.asarray(values[: whole * DAY].reshape(whole, -1).mean(axis=1))
