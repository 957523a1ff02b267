"""The screen of `racktwin capacity`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.planning.capacity import Capacity, Sustained
from racktwin.planning.capacity_words import (
    MOST,
    interval,
    levels,
    levels_of_curve,
    need,
    objectives,
    traffic,
)
from racktwin.planning.saturation import broken, holds


def screen(found: Capacity, written: Sequence[str] = ()) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    yield from _head(found)
    yield ""
    if not found.best.rate.value:
        yield Text("no load is within the objectives; this comes closest:", style="bold yellow")
    yield _ranking(found)
    yield ""
    yield from _need(found)
    yield from _stop(found)
    yield ""
    yield _curve(found)
    yield ""
    yield from _footing(found)
    if written:
        yield f"wrote {', '.join(written)}"


def _head(found: Capacity) -> Iterator[RenderableType]:
    one = found.best.one
    yield Text.assemble(
        (one.model.title, "bold"),
        f" in {one.precision.name.upper()} and {one.precision.kv.upper()} KV  on  ",
        (one.cluster.name, "bold"),
        f" ({found.gpus:,} {one.cluster.chip.name.upper()}), {one.engine.name}",
    )
    yield traffic(found)
    yield objectives(found)


def _ranking(found: Capacity) -> Table:
    shown = levels(found)
    roomy = len(shown) <= MOST
    columns = ["GPUs", "requests/s", "per GPU", *(each.head for each in shown)]
    columns += ["good/s", "copies", "all/s"] if roomy else ["copies", "all/s"]
    made = table("#", "deployment (one copy)", *columns, right=("#", *columns))
    for rank, each in enumerate(found.answers, 1):
        at = each.found.closest
        made.add_row(
            str(rank),
            "\n + ".join(each.one.titles),
            f"{each.one.gpus:,}",
            sure(each),
            f"{each.per_gpu:,.3g}",
            *(level.cell(at) for level in shown),
            *([f"{at.good:,.4g}"] if roomy else []),
            f"{each.copies:,}",
            f"{each.rate.value * each.copies:,.4g}",
            style="bold green" if rank == 1 and each.rate.value else "",
        )
    return made


def sure(each: Sustained) -> str:
    """Requests/s of a copy, and below it the interval: it seldom reaches as far to both sides."""
    rate = each.rate
    return f"{rate.value:,.4g}\n{interval(rate)}" if rate.value else "none"


def _need(found: Capacity) -> Iterator[RenderableType]:
    """What the rate takes, by deployment."""
    for rank, each in enumerate(found.answers, 1):
        if each.need is not None:
            text = need(found, rank, each.need)
            yield text if each.need.fits else Text(text, "bold yellow")


def _stop(found: Capacity) -> Iterator[str]:
    """Why the first stops where it does."""
    best = found.best
    after = best.found.next
    if after is not None:
        said = ", ".join(broken(after, found.task.slos))
        what = "#1 stops there" if best.rate.value else "#1 fails at the smallest load tried"
        yield f"{what}: at {after.rate:,.4g} requests/s {said}"


def _curve(found: Capacity) -> Table:
    shown = levels_of_curve(found)
    heads = [each.head for each in shown]
    columns = ("requests/s", *heads, "good/s", "good")
    made = table(*columns, "", right=columns)
    for each in found.best.found.curve:
        kept = holds(each, found.task.slos)
        made.add_row(
            f"{each.rate:,.4g}",
            *(level.cell(each) for level in shown),
            f"{each.good:,.4g}",
            f"{each.attained:.1%}",
            "" if kept else ", ".join(broken(each, found.task.slos)),
            style="" if kept else "dim",
        )
    return made


def _footing(found: Capacity) -> Iterator[str]:
    best: Sustained = found.best
    yield (
        f"simulated: {best.requests:,} requests on {_copies(best.together)} behind a "
        f"{best.router} router, each load the same ones"
    )
    yield f"evidence:  {best.rate.evidence}"
    yield from (f"note:      {note}" for note in found.notes)


def _copies(count: int) -> str:
    return f"{count:,} {'copy' if count == 1 else 'copies'}"
