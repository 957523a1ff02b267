"""The simulated finalists of a plan beside their steady means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table

if TYPE_CHECKING:
    from racktwin.planning.plan import Plan

LATENCIES = ("planned", "mean", "±95 %", "p50", "p99")


def trials(plan: Plan) -> Iterator[RenderableType]:
    """The table and what it says against the ranking."""
    from racktwin.planning.confirmation import SHARE, misses, remarks
    from racktwin.planning.demand import POISSON

    demand = plan.ask.demand
    arrivals = demand.arrivals if demand else POISSON
    yield f"simulated at {SHARE:.0%} of the planned load, {arrivals}:"
    yield _table(plan)
    yield from (Text(line, style="bold yellow") for line in misses(plan))
    if any(each.short and not each.overloaded for each in plan.trials):
        yield "means are sure to 5 % only where ±95 % says so"
    yield from (f"note: {each}" for each in remarks(plan))


def _table(plan: Plan) -> Table:
    heads = [f"TTFT s {LATENCIES[0]}", *LATENCIES[1:], f"TPOT ms {LATENCIES[0]}", *LATENCIES[1:]]
    made = table("#", "requests/s", *heads, right=("#", "requests/s", *heads))
    for rank, (choice, trial) in enumerate(zip(plan.choices, plan.trials, strict=True), 1):
        cells = [str(rank), f"{trial.rate:,.3g}"]
        for steady, spread, scale, form in (
            (choice.ttft.value, trial.ttft, 1.0, ",.2f"),
            (choice.tpot.value, trial.tpot, 1e3, ",.1f"),
        ):
            figures = (steady, spread.mean, spread.error, spread.p50, spread.p99)
            cells += [f"{figure * scale:{form}}" for figure in figures]
        made.add_row(*cells)
    return made
