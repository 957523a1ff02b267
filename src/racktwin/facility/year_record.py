"""A year of a hall as plain data (schema racktwin/power-year/1); SI units."""

from __future__ import annotations

from typing import Any

import numpy as np

from racktwin.facility.asked import Answer
from racktwin.facility.hall import Hall
from racktwin.facility.year import Year

TEMPERATURES = ("junction", "supply", "back", "primary", "primary_back", "air", "air_back")


def record(found: Answer) -> dict[str, Any]:
    """Means and extremes; the hours themselves are in year.csv."""
    year, bill = found.year, found.bill
    hottest = int(year.weather.dry.argmax())
    return {
        "cluster": year.hall.cluster.name,
        "racks": year.hall.cluster.racks,
        "weather": {
            "title": year.weather.title,
            "origin": year.weather.origin,
            "hours": len(year.weather),
            "dry_bulb": _spread(year.weather.dry),
            "wet_bulb": _spread(year.weather.wet),
        },
        "load": year.load,
        "plant": plant_record(year.hall),
        "pue": year.pue,
        "site_pue": float(year.hall.cluster.site.pue),
        "wue_litres_per_kwh": year.wue,
        "hourly_pue": _spread(year.hourly_pue),
        "monthly_pue": list(map(float, year.monthly(year.site) / year.monthly(year.it))),
        "watts": {name: float(values.mean()) for name, values in watts(year).items()},
        "peak_site_watts": float(year.site.max()),
        "chiller_hours": year.chilled,
        "hottest_hour": {
            "dry_bulb": float(year.weather.dry[hottest]),
            "wet_bulb": float(year.weather.wet[hottest]),
            **{name: float(getattr(year.state, name)[hottest]) for name in TEMPERATURES},
        },
        "junction_most": float(year.state.junction.max()) if year.hall.loop else None,
        "throttled_hours": int((year.state.held < 1).sum()),
        "energy_kwh": bill.energy,
        "electricity_cost": bill.electricity,
        "water_litres": bill.litres,
        "water_cost": bill.water,
        "carbon_kg": bill.carbon,
        "negative_price_hours": bill.paid,
        "short": [
            {"element": each.element, "text": each.text, "hours": each.hours} for each in year.short
        ],
    }


def plant_record(hall: Hall) -> dict[str, Any]:
    """The plant's sizes: W, °C, m³/s."""
    return {
        "name": hall.plant.name,
        "title": hall.plant.title,
        "inlet": float(hall.plant.inlet),
        "exchangers": hall.units,
        "exchangers_needed": hall.needed,
        "rack_flow_m3_per_s": hall.flow,
        "rack_drop_pa": hall.drop,
        "cooler": hall.plant.liquid.cooler if hall.liquid else hall.plant.air.plant.cooler,
    }


def watts(year: Year) -> dict[str, Any]:
    """W by hour of each part of the site's power; they add up to it."""
    state = year.state
    return {
        "it": year.it,
        "power_chain": year.losses,
        "coolant_pumps": state.pumps,
        "water_pumps": state.water_pumps,
        "air_handlers": state.handlers,
        "cooler_fans": state.fans,
        "chillers": state.compressors,
    }


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "least": float(values.min()),
        "p99": float(np.quantile(values, 0.99)),
        "most": float(values.max()),
    }
