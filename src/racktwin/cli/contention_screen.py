"""Jobs on a fabric on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.network.contention import Contention
from racktwin.network.contention_words import TIER_NAMES, grounds
from racktwin.network.routing import ABOUT
from racktwin.network.timeline import timeline
from racktwin.units import Bandwidth, Seconds


def screen(found: Contention) -> Iterator[RenderableType]:
    """Title, jobs, links, and what the figures rest on."""
    traffic = found.traffic
    cluster = traffic.cluster
    head = f"   {cluster.gpus:,} GPUs of {cluster.title}, {Seconds(found.seconds).text(4)} in all"
    yield Text.assemble(("traffic", "bold"), head)
    yield Text(f"{traffic.routing} routing: {ABOUT[traffic.routing]}{_faults(found)}")
    if found.idle:
        which = ", ".join(map(str, found.idle))
        yield Text(f"touch no link that the jobs use: {which}", "yellow")
    yield ""
    yield _jobs(found)
    if found.draws:
        yield ""
        yield _draws(found)
    yield ""
    yield _links(found)
    yield ""
    yield _notes(found)


def _faults(found: Contention) -> str:
    text = ", ".join(map(str, found.traffic.faults))
    return f"; broken: {text}" if text else ""


def _jobs(found: Contention) -> Table:
    columns = ("start", "takes", "alone", "slower", "bound", "median flow", "last", "rate")
    made = table("", "flows", *columns, title="jobs", right=("flows", *columns))
    for each in found.jobs:
        times = (each.seconds, each.alone)
        made.add_row(
            each.job.name,
            f"{each.flows:,}",
            Seconds(each.start).text(3),
            *(Seconds(time).text(4) for time in times),
            f"x{each.slowdown:.2f}",
            Seconds(each.floor).text(3),
            *(Seconds(time).text(3) for time in (each.middle, each.last)),
            Bandwidth(each.flow_rate).text(3),
        )
    return made


def _draws(found: Contention) -> Table:
    names = ("least", "median", "most")
    made = table("", *names, title=f"{len(found.draws[0])} draws of the hashes", right=names)
    for each, draws in zip(found.jobs, found.draws, strict=True):
        ordered = sorted(draws)
        chosen = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
        made.add_row(each.job.name, *(Seconds(time).text(4) for time in chosen))
    return made


def _links(found: Contention) -> Table:
    both = Table.grid(padding=(0, 6, 0, 0))
    made = table("", "mean", "highest", title="links", right=("mean", "highest"))
    line = timeline(found.run, found.links, min(each.start for each in found.jobs))
    for name, mean in line.mean.items():
        made.add_row(TIER_NAMES[name], f"{mean.mean():.1%}", f"{line.peak[name].max():.1%}")
    most = table("", "of line rate, all the time", title="busiest links")
    for link, share in found.busiest:
        most.add_row(link, f"{share:.1%}")
    both.add_row(made, most)
    return both


def _notes(found: Contention) -> Table:
    made = Table.grid(padding=(0, 3, 0, 0))
    for name, text in grounds(found):
        made.add_row(name, text)
    return made
