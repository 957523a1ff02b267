"""A day of a hall on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.dashboard.money import dollars
from racktwin.planning.hall_day import HallDay, demand_words
from racktwin.planning.hall_day_record import record
from racktwin.units import Joules, Seconds, Watts

MWH = 3600 * 1e6  # J


def screen(found: HallDay) -> Iterator[RenderableType]:
    """Title, power, latencies, temperatures, energy per token."""
    ran, day = found.ran, found.ran.day
    yield Text.assemble((found.deployment.model.title, "bold"), f"   {found.deployment.title}")
    days = (
        f"day {found.first}"
        if day.seconds == 86400
        else f"{day.seconds / 86400:g} days from {found.first}"
    )
    yield f"{day.hall.cluster.name}, {day.hall.racks:,} racks, {day.weather.title}, {days}"
    yield f"{demand_words(found.traffic)}, {found.profile}; {day.hall.plant.title.lower()}"
    yield ""
    yield _power(found)
    yield ""
    yield _latency(found)
    yield ""
    made = Table.grid(padding=(0, 3, 0, 0))
    for name, text in _facts(found):
        made.add_row(name, text)
    yield made
    if found.behind:
        text = f"behind: {ran.asked - ran.requests:,.0f} requests still wait at the end"
        yield Text(text, "bold red")


def _power(found: HallDay) -> Table:
    ran = found.ran
    heads = ("mean", "least", "most")
    made = table("", *heads, title="power", right=heads)
    rows = {"a GPU": ran.lines[:, 2], "a rack": ran.lines[:, 1] / ran.day.hall.racks}
    rows |= {"IT": ran.it, "cooling": ran.plant.cooling, "site": ran.site}
    for name, row in rows.items():
        cells = (Watts(float(each)).text(3) for each in (row.mean(), row.min(), row.max()))
        made.add_row(name, *cells)
    return made


def _latency(found: HallDay) -> Table:
    heads = ("p50", "p90", "p99")
    made = table("", *heads, title="latency", right=heads)
    answer = record(found)
    for name in ("ttft", "tpot"):
        cells = (Seconds(answer[name][each]).text(3) for each in heads)
        made.add_row(name.upper(), *cells)
    return made


def _facts(found: HallDay) -> Iterator[tuple[str, str]]:
    ran, day = found.ran, found.ran.day
    share = ran.requests / ran.asked if ran.asked else 1.0
    rate = ran.requests / day.seconds
    most = f"of {day.serving.capacity:,.4g}/s at most"
    yield "requests", f"{ran.requests:,.0f} served, {share:.1%}; {rate:,.4g}/s {most}"
    if day.cap:
        most_of_rack = Watts(float(ran.lines[:, 10].max()) / day.hall.racks).text(4)
        yield "cap", f"{Watts(day.cap)} a rack; the most was {most_of_rack}"
    outside = f"{ran.day.weather.dry[day.start : day.start + 24].max():.1f} °C outside at most"
    if day.hall.loop:
        hottest = (
            f"supply {ran.lines[:, 4].max():.1f}, junction {ran.lines[:, 5].max():.1f} °C at most"
        )
        yield "temperatures", f"{outside}, {hottest}"
        yield "throttled", f"{ran.throttled:,.0f} s of {day.seconds:,}"
    else:
        yield "temperatures", outside
    yield (
        "energy",
        (
            f"{Joules(ran.energy).text(3)} ({ran.energy / MWH:,.1f} MWh), "
            f"{ran.tokens / ran.energy:.3g} output tokens/J"
        ),
    )
    told = f"`plan` and `power cost` take the cluster file's {day.hall.cluster.site.pue:g}"
    yield "PUE", f"{ran.pue:.3f} of cooling and power chain, computed; {told}"
    tokens = ran.tokens or 1.0
    yield (
        "electricity",
        f"{dollars(found.electricity, ',.0f')}, "
        f"{dollars(found.electricity / tokens * 1e6, '.3g')}/Mtok output",
    )
    if ran.litres:
        yield (
            "water",
            f"{ran.litres / 1e3:,.0f} m³, {ran.litres * MWH / 1e3 / ran.it_energy:.2f} l/kWh",
        )
    yield (
        "carbon",
        f"{found.carbon / 1e3:,.1f} t, {found.carbon / tokens * 1e6:.3g} g/1,000 tokens output",
    )
