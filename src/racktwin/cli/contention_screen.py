"""Jobs on a fabric on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.network.contention import Contention
from racktwin.network.routing import (
    ABOUT,
    congestion,
    efficiency,
    efficiency_kind,
    nic_efficiency,
)
from racktwin.network.timeline import timeline
from racktwin.units import Bandwidth, Bytes, Seconds

TIER_NAMES = {
    "nvlink_out": "NVLink out", "nvlink_in": "NVLink in", "nic_out": "NIC out",
    "leaf_up": "leaf up", "spine_up": "spine up", "spine_down": "spine down",
    "leaf_down": "leaf down", "nic_in": "NIC in",
}  # fmt: skip


def screen(found: Contention) -> Iterator[RenderableType]:
    """Title, jobs, links, and what the figures rest on."""
    traffic = found.traffic
    cluster = traffic.cluster
    head = f"   {cluster.gpus:,} GPUs of {cluster.title}, {Seconds(found.seconds).text(4)} in all"
    yield Text.assemble(("traffic", "bold"), head)
    yield Text(f"{traffic.routing} routing: {ABOUT[traffic.routing]}{_faults(found)}")
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
    made = table("", "mean", "busiest", title="links", right=("mean", "busiest"))
    line = timeline(found.run, found.links, min(each.start for each in found.jobs))
    for name, mean in line.mean.items():
        made.add_row(TIER_NAMES[name], f"{mean.mean():.1%}", f"{line.peak[name].max():.1%}")
    most = table("", "of line rate, all the time", title="busiest")
    for link, share in found.busiest:
        most.add_row(link, f"{share:.1%}")
    both.add_row(made, most)
    return both


def _notes(found: Contention) -> Table:
    traffic = found.traffic
    made = Table.grid(padding=(0, 3, 0, 0))
    kinds = {each.job.kind for each in found.jobs}
    words = {"pairs": "one receiver at a time", "many": "many receivers"}
    made.add_row("formula", f"max-min fair rates over {found.classes:,} classes of flows")
    made.add_row("NICs", f"reach {nic_efficiency(traffic.cluster):.0%} of line rate (measured)")
    for kind in sorted(kinds):
        share = f"{efficiency(traffic.routing, kind):.1%} of links between switches are used with"
        known = efficiency_kind(traffic.routing, kind)
        made.add_row("paths", f"{share} {words[kind]} ({known}: catalog/fabrics/routing.yaml)")
    made.add_row("congestion", f"{_control(found)} (assumed)")
    rounded = f"; starts and ends within {found.run.grain:.0%} of a flow count as one"
    exact = f"{found.run.steps:,} steps{rounded if found.run.grain else ''}"
    sent = Bytes(sum(each.bytes for each in found.jobs)).text(4)
    made.add_row("", f"{exact}; {sent} over NICs; times hold the round trip of the last byte")
    return made


def _control(found: Contention) -> str:
    facts, traffic = congestion(), found.traffic
    apart = "a queue for each service level" if traffic.isolated else "one queue for all"
    if traffic.control == "none":
        return f"no congestion control: flows behind a full receiver block others; {apart}"
    return (
        f"senders slow down within {facts.reaction} of a congestion; flows passing by then lose "
        f"{facts.victim_loss}; {apart}"
    )
