"""report.html of jobs on a fabric: when they end, what they cost one another, which links work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.contention_chart import contention_chart
from racktwin.dashboard.page import page
from racktwin.network.contention import Contention, JobOutcome
from racktwin.network.contention_words import TIER_NAMES, grounds
from racktwin.network.routing import ABOUT
from racktwin.network.timeline import timeline
from racktwin.units import Bandwidth, Bytes, Seconds

COLUMNS = (
    *("pattern", "GPUs", "flows", "bytes each", "start", "takes", "alone", "slower"),
    *("bound", "median flow", "last", "rate"),
)


def contention_report(found: Contention) -> str:
    """The page as text."""
    return page("contention.html").render(**_content(found), version=__version__)


def _content(found: Contention) -> dict[str, Any]:
    traffic = found.traffic
    broken = ", ".join(map(str, traffic.faults))
    line = timeline(found.run, found.links, min(each.start for each in found.jobs))
    return {
        "model": f"{len(found.jobs)} job{'s' * (len(found.jobs) != 1)}",
        "cluster": f"{traffic.cluster.gpus:,} GPUs of {traffic.cluster.title}",
        "question": f"{traffic.routing} routing: {ABOUT[traffic.routing]}."
        + (f" Broken: {broken}." if broken else ""),
        "idle": ", ".join(map(str, found.idle)),
        "headline": list(_headline(found)),
        "columns": COLUMNS,
        "jobs": [(each.job.name, list(_cells(each))) for each in found.jobs],
        "chart": Markup(contention_chart(found)),
        "tiers": [
            (TIER_NAMES[name], f"{mean.mean():.1%}", f"{line.peak[name].max():.1%}")
            for name, mean in line.mean.items()
        ],
        "busiest": [(name, f"{share:.1%}") for name, share in found.busiest],
        "draws": list(_draws(found)),
        "count": len(found.draws[0]) if found.draws else 0,
        "grounds": list(grounds(found)),
    }


def _headline(found: Contention) -> Iterator[tuple[str, str, str]]:
    worst = max(found.jobs, key=lambda each: each.slowdown)
    name, share = found.busiest[0]
    yield Seconds(found.seconds).text(4), "in all", f"{found.classes:,} classes of flows"
    yield f"x{worst.slowdown:.2f}", "slowest beside the others", worst.job.name
    yield f"{share:.0%}", "of line rate on the busiest link", name


def _cells(one: JobOutcome) -> Iterator[str]:
    job = one.job
    yield job.pattern.replace("_", "-")
    yield f"{len(job.gpus):,}"
    yield f"{one.flows:,}"
    yield Bytes(job.size).text(3)
    for time, digits in ((one.start, 3), (one.seconds, 4), (one.alone, 4)):
        yield Seconds(time).text(digits)
    yield f"x{one.slowdown:.2f}"
    for time in (one.floor, one.middle, one.last):
        yield Seconds(time).text(3)
    yield Bandwidth(one.flow_rate).text(3)


def _draws(found: Contention) -> Iterator[tuple[str, list[str]]]:
    """Least, median and most time of each job under other draws of the hashes."""
    for each, draws in zip(found.jobs, found.draws, strict=False):
        ordered = sorted(draws)
        chosen = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
        yield each.job.name, [Seconds(time).text(4) for time in chosen]
