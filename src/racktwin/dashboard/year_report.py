"""report.html of a hall's year: one self-contained page, no script, charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.money import dollars
from racktwin.dashboard.page import page
from racktwin.dashboard.year_charts import overhead_chart, temperature_chart, water_chart
from racktwin.facility.asked import Answer
from racktwin.facility.year_record import watts


def year_report(found: Answer) -> str:
    """The page as text."""
    year = found.year
    cluster = year.hall.cluster
    charts = [overhead_chart(year), temperature_chart(year)]
    if year.litres:
        charts.append(water_chart(year))
    return page("year.html").render(
        title=f"A year of {cluster.title} in {year.weather.title}",
        question=f"{cluster.racks:,} racks at {year.load:.0%} of the way from idle to the limit; "
        f"{year.hall.plant.title}, {year.hall.plant.inlet} to the racks; weather: "
        f"{year.weather.origin}.",
        headline=list(_headline(found)),
        charts=[Markup(each) for each in charts],
        parts=[
            (
                name.replace("_", " "),
                f"{values.mean() / 1e3:,.1f}",
                f"{values.max() / 1e3:,.1f}",
                f"{values.sum() / year.it.sum():.2%}",
            )
            for name, values in watts(year).items()
        ],
        short=[f"{each.element}: {each.text} ({each.hours:,} hours)" for each in year.short],
        version=__version__,
    )


def _headline(found: Answer) -> Iterator[tuple[str, str, str]]:
    year, bill = found.year, found.bill
    spread = f"{year.hourly_pue.min():.3f} to {year.hourly_pue.max():.3f} by the hour"
    yield f"{year.pue:.3f}", "PUE", spread
    yield f"{year.wue:.2f}", "litres per kWh", f"{bill.litres / 1e3:,.0f} m³ of water"
    yield (
        f"{bill.energy / 1e6:,.1f} GWh",
        "electricity",
        f"{dollars(bill.electricity / 1e6, ',.2f')} M",
    )
    yield f"{bill.carbon / 1e3:,.0f} t", "CO2", f"{bill.carbon / bill.energy * 1e3:.0f} g/kWh"
