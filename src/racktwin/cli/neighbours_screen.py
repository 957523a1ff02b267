"""The screen of `racktwin simulate` with several deployments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.cli.simulate_screen import screen as one_screen
from racktwin.cli.simulate_screen import warnings
from racktwin.planning.neighbours import APART, Neighbours

COLUMNS = ("GPUs", "busy", "requests/s", "good/s", "out tok/s", "TTFT p99 s", "TPOT p99 ms", "kW")


def screen(found: Neighbours, written: Sequence[str]) -> Iterator[RenderableType]:
    """The totals, then each deployment."""
    cluster = found.cluster
    yield Text.assemble(
        (f"{len(found.replays)} deployments", "bold"),
        f" on {found.gpus:,} of the {cluster.gpus:,} GPUs of ",
        (cluster.name, "bold"),
    )
    for name, each in zip(found.names, found.replays, strict=True):
        yield from (Text(f"{name}: {line}", "bold yellow") for line in warnings(each.outcome))
    yield ""
    yield _totals(found)
    yield f"idle GPUs  {cluster.gpus - found.gpus:,}, {found.idle_watts / 1e3:,.1f} kW"
    yield f"note:      {APART}"
    for name, each in zip(found.names, found.replays, strict=True):
        yield ""
        yield Text(f"{name} " + "-" * (78 - len(name)), style="dim")
        yield from one_screen(each, ())
    if written:
        yield ""
        yield f"wrote {', '.join(written)}"


def _totals(found: Neighbours) -> Table:
    made = table("deployment", *COLUMNS, right=COLUMNS)
    for name, each in zip(found.names, found.replays, strict=True):
        outcome = each.outcome
        busy = sum(use.busy * use.gpus for use in outcome.pools.values()) / outcome.gpus
        made.add_row(
            name,
            f"{outcome.gpus:,}",
            f"{busy:.0%}",
            f"{outcome.requests:,.2f}",
            f"{outcome.good:,.2f}",
            f"{outcome.output:,.0f}",
            _figure(outcome.ttft.p99, ",.3f"),
            _figure(outcome.tpot.p99 * 1e3, ",.2f"),
            f"{each.watts * outcome.powered / 1e3:,.1f}",
        )
    made.add_row(
        "all",
        f"{found.gpus:,}",
        f"{found.busy:.0%}",
        f"{found.total('requests'):,.2f}",
        f"{found.total('good'):,.2f}",
        f"{found.total('output'):,.0f}",
        "",
        "",
        f"{found.watts / 1e3:,.1f}",
        style="bold",
    )
    return made


def _figure(value: float, form: str) -> str:
    return f"{value:{form}}" if math.isfinite(value) else "-"
