"""An answer on capacity in words: what the screen and the report both say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from racktwin.estimate import Estimate
from racktwin.planning.capacity import Capacity, Need
from racktwin.planning.slo import GOODPUT, USUAL
from racktwin.planning.trial import Trial
from racktwin.serving.limits import Limits

SCALES = {
    "ttft": (1.0, "s", ",.2f"),
    "tpot": (1e3, "ms", ",.1f"),
    "itl": (1e3, "ms", ",.1f"),
    "e2e": (1.0, "s", ",.2f"),
}  # of s, the unit shown, its form
ALWAYS = ("ttft", "tpot")
MOST = 2  # latencies that a row has room for twice


class Shown(NamedTuple):
    """A level of a latency: 'p99' of 'ttft'."""

    figure: str
    level: str

    @property
    def head(self) -> str:
        """Of its column: 'p99 TTFT s'."""
        return f"{self.level} {self.figure.upper()} {SCALES[self.figure][1]}"

    def cell(self, trial: Trial) -> str:
        """Its value in a trial."""
        scale, _, form = SCALES[self.figure]
        return f"{getattr(getattr(trial, self.figure), self.level) * scale:{form}}"


def levels(found: Capacity) -> list[Shown]:
    """The level of each latency that is shown: that of its objective, else the usual one."""
    given = {slo.figure: slo.level for slo in found.task.slos if slo.figure in SCALES}
    return [Shown(*each) for each in (dict.fromkeys(ALWAYS, USUAL) | given).items()]


def levels_of_curve(found: Capacity) -> list[Shown]:
    """The same, each with what is middling before it; not where that would be too many."""
    shown = levels(found)
    if len(shown) > MOST:
        return shown
    return [
        Shown(each.figure, level)
        for each in shown
        for level in ("mean" if each.level == "p50" else "p50", each.level)
    ]


def interval(rate: Estimate) -> str:
    """Where the rate, requests/s, is in 80 of 100 cases: '7.1-9.4'."""
    return f"{rate.low:,.4g}-{rate.high:,.4g}"


def traffic(found: Capacity) -> str:
    """Whose requests, how long they are and how they come."""
    demand = found.task.demand
    lengths = f"{demand.traffic.input:,.0f} in / {demand.traffic.output:,.0f} out"
    name = f"{demand.name}, " if demand.name else ""
    return f"{name}{lengths}{' on average' if name else ''}, {demand.arrivals}"


def objectives(found: Capacity) -> str:
    """All objectives, and the rate asked for."""
    task = found.task
    said = ", ".join(_each(found)) or "no objectives: until the queue has no end"
    return said if task.rate is None else f"{said}    for {task.rate:,.6g} requests/s"


def _each(found: Capacity) -> Iterator[str]:
    """Each objective; behind that on goodput the limits of a good request."""
    task = found.task
    classes = any(each.limits != Limits() for each in task.demand.classes)
    of = [f"within {task.limits.text}"] if task.limits.text else []
    of += ["of every class within its limits"] if classes else []
    for slo in task.slos:
        yield f"{slo} {', '.join(of)}" if slo.figure == GOODPUT else str(slo)


def need(found: Capacity, rank: int, of: Need) -> str:
    """What the rate takes with the deployment of this rank."""
    spare = f" and {of.spare:,} spare" if of.spare else ""
    at = ", ".join(
        f"{each.level} {each.figure.upper()} {each.cell(of.trial)} {SCALES[each.figure][1]}"
        for each in levels(found)
    )
    text = (
        f"#{rank} takes {of.copies:,} copies{spare}: {of.gpus:,} GPUs, "
        f"{of.racks:,} {'rack' if of.racks == 1 else 'racks'}; {at}"
    )
    return text if of.fits else f"{text}; more than the {found.gpus:,} GPUs there are"
