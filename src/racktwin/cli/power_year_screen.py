"""A year of a hall on one screen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.dashboard.money import dollars
from racktwin.facility.asked import Answer
from racktwin.facility.year import Year
from racktwin.facility.year_record import watts
from racktwin.units import Flow, Watts

NAMES = {
    "it": "IT",
    "power_chain": "power chain",
    "coolant_pumps": "coolant pumps",
    "water_pumps": "water pumps",
    "air_handlers": "air handlers",
    "cooler_fans": "cooler fans",
    "chillers": "chillers",
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def screen(found: Answer) -> Iterator[RenderableType]:
    """Title, PUE by month, where the power goes, the loop on the hottest hour, the bill."""
    year = found.year
    cluster, plant = year.hall.cluster, year.hall.plant
    size = f"{cluster.racks:,} {'rack' if cluster.racks == 1 else 'racks'} at {year.load:.0%}"
    yield Text.assemble((cluster.name, "bold"), f"   {size}   {plant.title}")
    yield f"{year.weather.title} ({year.weather.origin}), {len(year.weather):,} hours"
    yield ""
    yield Text.assemble(("PUE ", "bold"), (f"{year.pue:.3f}", "bold"), _extremes(year))
    told = f"`plan` and `power cost` take the cluster file's {cluster.site.pue:g}"
    yield f"of cooling and power chain, computed; {told}"
    yield f"WUE {year.wue:.2f} litres per kWh of IT"
    yield ""
    yield _months(year)
    yield ""
    yield _parts(year)
    yield ""
    yield _facts(found)
    for each in year.short:
        yield Text(f"short: {each.element}: {each.text} ({each.hours:,} hours)", "bold red")


def _extremes(year: Year) -> str:
    hourly = year.hourly_pue
    return f"   {hourly.min():.3f} to {hourly.max():.3f} by the hour"


def _months(year: Year) -> Table:
    made = table("", *MONTHS, title="month", right=MONTHS)
    by_month = year.monthly(year.site) / np.maximum(year.monthly(year.it), 1e-9)
    months = [year.weather.dry[year.weather.month == each + 1] for each in range(12)]
    made.add_row("PUE", *(f"{each:.2f}" for each in by_month))
    made.add_row("mean °C", *(f"{each.mean():.0f}" if len(each) else "" for each in months))
    made.add_row("most °C", *(f"{each.max():.0f}" if len(each) else "" for each in months))
    return made


def _parts(year: Year) -> Table:
    heads = ("mean", "most", "of IT")
    made = table("", *heads, title="power", right=heads)
    for name, values in watts(year).items():
        if not values.any():
            continue
        share = float(values.sum() / year.it.sum())
        cells = [Watts(float(each)).text(3) for each in (values.mean(), values.max())]
        made.add_row(NAMES[name], *cells, f"{share:.1%}")
    site = [Watts(float(each)).text(3) for each in (year.site.mean(), year.site.max())]
    made.add_row("site", *site, f"{year.pue:.1%}")
    return made


def _facts(found: Answer) -> Table:
    made = Table.grid(padding=(0, 3, 0, 0))
    year, bill = found.year, found.bill
    for name, text in _loop(year):
        made.add_row(name, text)
    price = bill.electricity / bill.energy
    paid = f", {bill.paid:,} hours with a negative price" if bill.paid else ""
    total = dollars(bill.electricity / 1e6, ",.2f")
    energy = f"{bill.energy / 1e6:,.1f} GWh, {total} M ({price * 100:.2f} cents/kWh{paid})"
    made.add_row("electricity", energy)
    made.add_row(
        "carbon", f"{bill.carbon / 1e3:,.0f} t ({bill.carbon / bill.energy * 1e3:.0f} g/kWh)"
    )
    made.add_row("water", f"{bill.litres / 1e3:,.0f} m³, ${bill.water / 1e3:,.0f} k")
    return made


def _loop(year: Year) -> Iterator[tuple[str, str]]:
    """Temperatures on the hottest hour, flows, hours of chillers."""
    hall, state, at = year.hall, year.state, int(year.weather.dry.argmax())
    outside = f"{year.weather.dry[at]:.1f} °C outside (wet bulb {year.weather.wet[at]:.1f})"
    air = f"hall air {state.air[at]:.1f} to {state.air_back[at]:.1f}"
    if hall.loop is None:
        yield "hottest hour", f"{outside}, {air}"
    else:
        yield "hottest hour", f"{outside}, water {state.primary[at]:.1f}, {air}"
        chips = f"junction {state.junction.max():.1f}, throttle at {float(hall.loop.throttle):g}"
        yield "coolant", f"{state.supply[at]:.1f} to {state.back[at]:.1f} °C, {chips}"
        drop = f"{hall.drop / 1e5:.2f} bar"
        needed = f"{hall.units} exchangers, {hall.needed} needed"
        yield "flow", f"{Flow(hall.flow).text(3)} a rack at {drop}; {needed}"
        held = int((state.held < 1).sum())
        if held:
            yield "throttled", f"{held:,} hours, to {float(state.held.min()):.0%} of the power"
    yield "chillers", f"run {year.chilled:,} of {len(year.weather):,} hours"
