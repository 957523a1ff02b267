"""Swings of a cluster's power on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.facility.spectrum import BANDS
from racktwin.facility.swings import Limit, Swings
from racktwin.facility.swings_words import grounds, title, verdict
from racktwin.units import Watts


def screen(found: Swings, limit: Limit) -> Iterator[RenderableType]:
    """Title, power and ramps, swings by band, what follows."""
    cluster = found.cluster
    yield Text.assemble((cluster.name, "bold"), f"   {title(found)}")
    yield ""
    yield _power(found)
    yield ""
    yield _bands(found)
    yield ""
    made = Table.grid(padding=(0, 3, 0, 0))
    for head, text in (*verdict(found, limit), *grounds(found)):
        made.add_row(head, text)
    yield made


def _power(found: Swings) -> Table:
    names = ["", "rack", "meter least", "mean", "peak", "rise /s", "fall /s", "in 10 s", "energy"]
    made = table(*names, title="power", right=tuple(names[1:]))
    for each in found.variants:
        rack = f"{each.rack.min() / 1e3:,.0f}-{Watts(float(each.rack.max())).text(3)}"
        site = [float(each.site.min()), float(each.site.mean()), each.peak]
        moves = [each.rise, each.fall, each.reach]
        cells = [Watts(value).text(3) for value in (*site, *moves)]
        made.add_row(each.name, rack, *cells, f"{each.burnt:+.1%}" if each.burnt else "")
    return made


def _bands(found: Swings) -> Table:
    names = [f"{low:g}-{high:g} Hz" for low, high in BANDS]
    made = table("", *names, "10 ms ramp /s", title="swings (rms)", right=(*names, "10 ms ramp /s"))
    for each in found.variants:
        values = (*each.bands, each.fastest)
        made.add_row(each.name, *(Watts(value).text(3) if value >= 1 else "-" for value in values))
    return made
