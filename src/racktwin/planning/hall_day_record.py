"""A day of a hall as plain data (schema racktwin/power-simulate/1); SI units, °C."""

from __future__ import annotations

from typing import Any

import numpy as np

from racktwin.planning.hall_day import HallDay

LEVELS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def record(found: HallDay) -> dict[str, Any]:
    """Totals, extremes, percentiles over requests."""
    ran, day = found.ran, found.ran.day
    return {
        "deployment": found.deployment.title,
        "cluster": day.hall.cluster.name,
        "racks": day.hall.racks,
        "weather": day.weather.title,
        "plant": day.hall.plant.name,
        "first_day": found.first,
        "seconds": day.seconds,
        "profile": found.profile,
        "input_tokens": found.traffic.input,
        "output_tokens": found.traffic.output,
        "capacity_requests_per_s": day.serving.capacity,
        "rack_cap_watts": day.cap,
        "requests_asked": ran.asked,
        "requests_served": ran.requests,
        "behind": found.behind,
        "tpot": {name: ran.latency("tpot", level) for name, level in LEVELS.items()},
        "ttft": {name: ran.latency("ttft", level) for name, level in LEVELS.items()},
        "it_watts": _spread(ran.it),
        "site_watts": _spread(ran.site),
        "rack_watts_most": float(ran.lines[:, 10].max()) / day.hall.racks,
        "pue": ran.pue,
        "site_pue": float(day.hall.cluster.site.pue),
        "supply_most": float(ran.lines[:, 4].max()),
        "junction_most": float(ran.lines[:, 5].max()) if day.hall.loop else None,
        "throttled_seconds": ran.throttled,
        "it_joules": ran.it_energy,
        "site_joules": ran.energy,
        "water_litres": ran.litres,
        "tokens_per_joule": ran.tokens / ran.energy,
        "electricity_cost": found.electricity,
        "electricity_per_mtok": found.electricity / ran.tokens * 1e6 if ran.tokens else None,
        "carbon_kg": found.carbon,
        "carbon_g_per_1k_tokens": found.carbon / ran.tokens * 1e6 if ran.tokens else None,
        "notes": [str(each) for each in found.notes],
    }


def lines(found: HallDay) -> str:
    """CSV with a row for each point of the time lines."""
    ran = found.ran
    racks, seconds = ran.day.hall.racks, ran.lines[:, 0]
    capacity = ran.day.serving.capacity / racks
    columns = {
        "time_s": ran.times,
        "it_w": ran.it,
        "site_w": ran.site,
        "gpu_w": ran.lines[:, 2],
        "water_c": ran.lines[:, 3],
        "supply_c": ran.lines[:, 4],
        "junction_most_c": ran.lines[:, 5],
        "asked_per_s": ran.lines[:, 6] / seconds * capacity,
        "served_per_s": ran.lines[:, 7] / seconds * capacity,
        "throttled": ran.lines[:, 9] / seconds,
    }
    rows = np.column_stack(list(columns.values()))
    text = [",".join(f"{value:.7g}" for value in row) for row in rows]
    return "\n".join([",".join(columns), *text]) + "\n"


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "least": float(values.min()),
        "most": float(values.max()),
    }
