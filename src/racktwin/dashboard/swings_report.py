"""report.html of swings: over time, by frequency, and against the utility's limits."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.page import page
from racktwin.dashboard.swings_charts import course_chart, spectrum_chart
from racktwin.facility.pattern import TICK
from racktwin.facility.spectrum import BANDS
from racktwin.facility.swings import Limit, Swings, Variant
from racktwin.facility.swings_words import grounds, title, verdict
from racktwin.units import Watts

COLUMNS = ("rack", "least", "mean", "peak", "rise in 1 s", "fall in 1 s", "within 10 s", "energy")


def swings_report(found: Swings, limit: Limit) -> str:
    """The page as text."""
    whole = len(found.variants[0].site) * TICK
    middle = whole / 2
    first, last = found.variants[0], found.variants[-1]
    return page("swings.html").render(
        title=f"Power swings of {found.cluster.title}",
        question=title(found) + ".",
        headline=[
            (Watts(first.peak).text(4), "peak at the meter", first.name),
            (Watts(last.peak).text(4), "peak at the meter", last.name),
            (f"{last.burnt:+.1%}", "energy for steadiness", last.name),
        ],
        whole=Markup(course_chart(found, 0.0, whole)),
        steps=Markup(course_chart(found, middle, min(whole, middle + 3 * found.step))),
        rack=Markup(course_chart(found, middle, min(whole, middle + 3 * found.step), "rack")),
        spectrum=Markup(spectrum_chart(found)),
        columns=COLUMNS,
        rows=[(each.name, list(_cells(each))) for each in found.variants],
        bands=[f"{low:g} to {high:g} Hz" for low, high in BANDS],
        swings=[(each.name, [Watts(value).text(3) for value in each.bands])
                for each in found.variants],
        verdict=list(verdict(found, limit)),
        grounds=list(grounds(found)),
        version=__version__,
    )  # fmt: skip


def _cells(each: Variant) -> Iterator[str]:
    yield f"{each.rack.min() / 1e3:,.0f} to {Watts(float(each.rack.max())).text(3)}"
    site = (float(each.site.min()), float(each.site.mean()), each.peak)
    for value in site:
        yield Watts(value).text(4)
    for value in (each.rise, each.fall):
        yield f"{Watts(value).text(3)}/s"
    yield Watts(each.reach).text(3)
    yield f"{each.burnt:+.1%}" if each.burnt else ""
