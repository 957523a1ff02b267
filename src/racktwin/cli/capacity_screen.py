"""The screen of `racktwin capacity`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.planning.capacity import Capacity, Sustained
from racktwin.planning.saturation import broken, holds
from racktwin.planning.slo import USUAL
from racktwin.planning.trial import Trial

SCALES = {"ttft": (1.0, "s", ",.2f"), "tpot": (1e3, "ms", ",.1f")}


def screen(found: Capacity) -> Iterator[RenderableType]:
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


def _head(found: Capacity) -> Iterator[RenderableType]:
    one, task = found.best.one, found.task
    yield Text.assemble(
        (one.model.title, "bold"),
        f" in {one.precision.name.upper()} and {one.precision.kv.upper()} KV  on  ",
        (one.cluster.name, "bold"),
        f" ({found.gpus:,} {one.cluster.chip.name.upper()}), {one.engine.name}",
    )
    traffic = task.demand.traffic
    lengths = f"{traffic.input:,.0f} in / {traffic.output:,.0f} out"
    name = f"{task.demand.name}, " if task.demand.name else ""
    yield f"{name}{lengths}{' on average' if name else ''}, {task.demand.arrivals}"
    said = ", ".join(map(str, task.slos)) or "no objectives: until the queue has no end"
    yield said if task.rate is None else f"{said}    for {task.rate:,.6g} requests/s"


def _levels(found: Capacity) -> dict[str, str]:
    """The level of each latency that is shown: that of its objective, else the usual one."""
    return dict.fromkeys(SCALES, USUAL) | {slo.figure: slo.level for slo in found.task.slos}


def _cell(trial: Trial, figure: str, level: str) -> str:
    scale, _, form = SCALES[figure]
    return f"{getattr(getattr(trial, figure), level) * scale:{form}}"


def _ranking(found: Capacity) -> Table:
    levels = _levels(found)
    heads = [f"{level} {name.upper()} {SCALES[name][1]}" for name, level in levels.items()]
    columns = ("GPUs", "requests/s", "per GPU", *heads, "good/s", "copies", "all/s")
    made = table("#", "deployment (one copy)", *columns, right=("#", *columns))
    for rank, each in enumerate(found.answers, 1):
        at = each.found.closest
        made.add_row(
            str(rank),
            "\n + ".join(each.one.titles),
            f"{each.one.gpus:,}",
            f"{each.rate.value:,.4g} ±{each.rate.relative:.0%}" if each.rate.value else "none",
            f"{each.per_gpu:,.3g}",
            *(_cell(at, name, level) for name, level in levels.items()),
            f"{at.good:,.4g}",
            f"{each.copies:,}",
            f"{each.rate.value * each.copies:,.4g}",
            style="bold green" if rank == 1 and each.rate.value else "",
        )
    return made


def _need(found: Capacity) -> Iterator[RenderableType]:
    """What the rate takes, by deployment."""
    rate = found.task.rate
    for rank, each in enumerate(found.answers, 1):
        need = each.need
        if rate is None or need is None:
            continue
        spare = f" and {need.spare:,} spare" if need.spare else ""
        levels = ", ".join(
            f"{level} {name.upper()} {_cell(need.trial, name, level)} {SCALES[name][1]}"
            for name, level in _levels(found).items()
        )
        text = (
            f"#{rank} takes {need.copies:,} copies{spare}: {need.gpus:,} GPUs, "
            f"{need.racks:,} {'rack' if need.racks == 1 else 'racks'}; {levels}"
        )
        if need.fits:
            yield text
        else:
            yield Text(f"{text}; more than the {found.gpus:,} GPUs there are", "bold yellow")


def _stop(found: Capacity) -> Iterator[str]:
    """Why the first stops where it does."""
    best = found.best
    after = best.found.next
    if after is not None:
        said = ", ".join(broken(after, found.task.slos))
        what = "#1 stops there" if best.rate.value else "#1 fails at the smallest load tried"
        yield f"{what}: at {after.rate:,.4g} requests/s {said}"


def _curve(found: Capacity) -> Table:
    shown = [
        (name, each)
        for name, level in _levels(found).items()
        for each in ("mean" if level == "p50" else "p50", level)
    ]
    heads = [f"{level} {name.upper()} {SCALES[name][1]}" for name, level in shown]
    columns = ("requests/s", *heads, "good/s", "good")
    made = table(*columns, "", right=columns)
    for each in found.best.found.curve:
        share = each.good / each.served if each.served else 0.0
        kept = holds(each, found.task.slos)
        made.add_row(
            f"{each.rate:,.4g}",
            *(_cell(each, name, level) for name, level in shown),
            f"{each.good:,.4g}",
            f"{share:.1%}",
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
