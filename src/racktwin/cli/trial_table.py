"""The simulated finalists of a plan beside their steady means."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.planning.plan import SHARE, Plan

COLUMNS = ("requests/s", "", "steady", "mean", "±95 %", "p50", "p90", "p99")


def trials(plan: Plan) -> Iterator[RenderableType]:
    """The table and what it says against the ranking."""
    from racktwin.planning.confirmation import misses, remarks
    from racktwin.planning.demand import POISSON

    demand = plan.ask.demand
    arrivals = demand.arrivals if demand else POISSON
    yield f"simulated at {SHARE:.0%} of the planned load, {arrivals}:"
    yield _table(plan)
    yield from (Text(line, style="bold yellow") for line in misses(plan))
    yield from (f"note: {each}" for each in remarks(plan))


def _table(plan: Plan) -> Table:
    made = table("#", *COLUMNS, right=("#", *COLUMNS))
    for rank, trial in enumerate(plan.trials, 1):
        for name, steady, spread, scale, form in (
            ("TTFT s", trial.steady_ttft, trial.ttft, 1.0, ",.2f"),
            ("TPOT ms", trial.steady_tpot, trial.tpot, 1e3, ",.1f"),
        ):
            first = [str(rank), f"{trial.rate:,.3g}"] if name == "TTFT s" else ["", ""]
            figures = (steady, spread.mean, spread.error, spread.p50, spread.p90, spread.p99)
            made.add_row(*first, name, *(f"{figure * scale:{form}}" for figure in figures))
    return made
