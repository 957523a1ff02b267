"""report.html of a day of a hall: one self-contained page, no script, charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from racktwin import __version__
from racktwin.dashboard.curves import curves
from racktwin.dashboard.money import dollars
from racktwin.dashboard.page import page
from racktwin.planning.hall_day import HallDay, demand_words
from racktwin.planning.hall_day_record import record

ACROSS = "hours"
MWH = 3600 * 1e6  # J
Floats = NDArray[np.float64]


def day_report(found: HallDay) -> str:
    """The page as text."""
    day = found.ran.day
    answer = record(found)
    return page("day.html").render(
        title=f"{found.deployment.model.title} through a day in {day.weather.title}",
        question=f"{found.deployment.title}; {demand_words(found.traffic)}, {found.profile}; "
        f"{day.hall.racks:,} racks of {day.hall.cluster.title}; {day.hall.plant.title}.",
        headline=list(_headline(found)),
        charts=[Markup(each) for each in _charts(found)],
        rows=[
            (name.upper(), *(f"{answer[name][level]:,.4g}" for level in ("p50", "p90", "p99")))
            for name in ("ttft", "tpot")
        ],
        version=__version__,
    )


def _headline(found: HallDay) -> Iterator[tuple[str, str, str]]:
    ran = found.ran
    yield f"{ran.site.max() / 1e6:,.2f} MW", "site at most", f"IT {ran.it.max() / 1e6:,.2f} MW"
    yield f"{ran.pue:.3f}", "PUE", f"{ran.energy / MWH:,.1f} MWh"
    yield f"{ran.tokens / ran.energy:.3g}", "output tokens/J", dollars(found.electricity, ",.0f")
    seconds = f"{ran.throttled:,.0f} s"
    yield seconds, "throttled", f"of {ran.day.seconds:,} s"


def _charts(found: HallDay) -> Iterator[str]:
    ran = found.ran
    racks, seconds = ran.day.hall.racks, ran.lines[:, 0]
    hours = list(map(float, ran.times / 3600))
    levels = {"site": ran.site, "IT": ran.it, "GPUs": ran.lines[:, 2] * ran.day.hall.cluster.gpus}
    levels["cooling"] = ran.plant.cooling
    yield _chart(hours, {name: row / 1e6 for name, row in levels.items()}, "power by level, MW")
    cap = ran.day.cap
    rack = {"mean of racks": ran.lines[:, 1] / racks / 1e3}
    yield _chart(hours, rack, "power of a rack, kW", cap / 1e3 if cap else None)
    capacity = ran.day.serving.capacity / racks
    flow = {"asked": ran.lines[:, 6], "served": ran.lines[:, 7]}
    yield _chart(hours, {k: v / seconds * capacity for k, v in flow.items()}, "requests/s")
    warm = {"water": ran.lines[:, 3], "supply": ran.lines[:, 4]}
    if ran.day.hall.loop:
        warm["hottest junction"] = ran.lines[:, 5]
    yield _chart(hours, warm, "°C")


def _chart(hours: list[float], rows: dict[str, Floats], up: str, limit: float | None = None) -> str:
    shown = {name: [float(each) for each in row] for name, row in rows.items()}
    return curves(hours, shown, across=ACROSS, up=up, limit=limit)
