"""report.html of a power budget: the chain as a tree, the limits, what binds first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.page import page
from racktwin.dashboard.power_tree import power_tree
from racktwin.facility.budget import Budget
from racktwin.facility.budget_words import grounds, title, verdict
from racktwin.facility.level import Level
from racktwin.units import Watts


def power_report(found: Budget) -> str:
    """The page as text."""
    return page("power.html").render(**_content(found), version=__version__)


def _content(found: Budget) -> dict[str, Any]:
    power, first = found.power, found.binding
    rack = next(
        (node for _, node in found.tree.walk() if node.name == found.cluster.rack.name), None
    )
    each = rack.watts / rack.count if rack and rack.count else 0.0
    return {
        "title": f"Power of {found.cluster.title}",
        "question": title(found) + (f"; failed: {found.failed}" if found.failed else "."),
        "warning": f"{first.name}: {first.use:.1%} of its limit." if first.use > 1 else "",
        "headline": [
            (Watts(power.site).text(4), "at the meter", f"IT {Watts(power.it).text(4)}"),
            (Watts(each).text(4), "a rack", "at its inlet"),
            (f"{first.use:.1%}", "of the limit that binds first", first.name),
        ],
        "chart": Markup(power_tree(found)),
        "feed_lost": found.feed_lost,
        "limits": [(each.name, list(_cells(found, each)), each.use > 1) for each in found.levels],
        "verdict": list(verdict(found)),
        "grounds": list(grounds(found)),
    }


def _cells(found: Budget, level: Level) -> Iterator[str]:
    yield f"{level.units:,}"
    yield Watts(level.limit).text(3) + (" (budget)" if level.budget else "")
    yield Watts(level.now).text(4)
    if found.feed_lost:
        yield Watts(level.spare).text(4)
    yield f"{level.use:.1%}"
    yield f"{level.oversubscription:.2f}" if level.oversubscription else ""
    yield Watts(found.stranded(level)).text(3)
