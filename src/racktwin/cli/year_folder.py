"""What `racktwin power year --out` writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from racktwin.cli.console import json_text
from racktwin.dashboard.year_report import year_report
from racktwin.facility.asked import Answer
from racktwin.facility.year_record import TEMPERATURES, watts


def year_files(found: Answer, answer: dict[str, Any]) -> dict[str, str]:
    """Name -> text: the report, the answer, and a row for every hour."""
    return {
        "report.html": year_report(found),
        "year.json": json_text(answer),
        "year.csv": _hours(found),
    }


def _hours(found: Answer) -> str:
    """CSV: temperatures in °C, watts, litres per hour, $/kWh, kg/kWh."""
    year = found.year
    columns = {
        "hour": np.arange(len(year.weather)),
        "dry_bulb_c": year.weather.dry,
        "wet_bulb_c": year.weather.wet,
        **{f"{name}_c": getattr(year.state, name) for name in TEMPERATURES},
        **{f"{name}_w": values for name, values in watts(year).items()},
        "pue": year.hourly_pue,
        "water_litres": year.state.water * 3600,
        "price_per_kwh": found.prices,
        "carbon_kg_per_kwh": found.intensity,
    }
    rows = np.column_stack(list(columns.values()))
    lines = [",".join(f"{value:.7g}" for value in row) for row in rows]
    return "\n".join([",".join(columns), *lines]) + "\n"
