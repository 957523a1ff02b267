"""The screen of `racktwin collective`: one size, a table of sizes, or a run against them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.network.comparison import Comparison
from racktwin.network.expectation import Expectation
from racktwin.network.moe_question import Exchanged
from racktwin.network.nccl_log import Log
from racktwin.network.way import Way
from racktwin.units import Bytes

MICRO, GIGA = 1e6, 1e-9
SKIPPED = 4  # lines of a log that are named
STYLES = {"slow": "bold yellow", "fast": "cyan", "as expected": ""}


def screen(found: Expectation) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    yield from _head(found)
    yield ""
    if len(found.size) == 1:
        yield _estimates(found)
        if found.paths:
            yield ""
            yield from _reasons(found)
    else:
        yield _sizes(found)
    yield ""
    yield f"evidence: {found.evidence}"
    yield f"bound:    {found.binds}"


def _head(found: Expectation) -> Iterator[RenderableType]:
    asked = found.question
    place, cluster = asked.place, asked.cluster
    name = asked.operation.replace("_", "-")
    size = f" of {Bytes(found.size[0])}" if len(found.size) == 1 else ""
    yield Text.assemble((f"{name}{size}", "bold"), f"  on {place.ranks:,} GPUs of {cluster.title}")
    said = ["one NVLink domain"]
    if place.domains > 1:
        said = [f"{place.domains:,} NVLink domains, {place.per_domain} to an NVLink domain"]
        said.append("SHARP on" if asked.way.sharp else "SHARP off")
    elif asked.operation == "all_reduce" and asked.way.algorithm in ("", "nvls"):
        said.append("its switches reduce")
    held = f", held to {asked.way.algorithm.replace('_', '-')}" if asked.way.algorithm else ""
    yield f"{'; '.join(said)}{held}"
    yield from _condition(asked.condition, asked.way)


def _condition(condition: str, way: Way) -> Iterator[RenderableType]:
    if condition:
        kept = f"NICs and cables {way.nic:.1%}, NVLink {way.nvlink:.1%}"
        said = f"{condition}: left of what bounds them on a whole fabric: {kept}"
        yield Text(said, "yellow")


def _cells(found: Expectation, time: float, at: int = 0) -> tuple[str, str, str]:
    size = float(found.size[at])
    rate = size / time * GIGA
    return f"{time * MICRO:,.1f}", f"{rate:,.2f}", f"{rate * found.share:,.2f}"


def _estimates(found: Expectation) -> RenderableType:
    made = table(
        "", "time us", "algbw GB/s", "busbw GB/s", "", right=("time us", "algbw GB/s", "busbw GB/s")
    )
    path, best = found.path(0), found.best[0]
    low, high = found.low[0] * MICRO, found.high[0] * MICRO
    rows = [("calibrated", float(found.calibrated[0]), f"{low:,.1f} to {high:,.1f} us, 80 %")]
    if path is not None and found.nccl is not None:
        taken = f"what NCCL takes and plans with: {path.algorithm} {path.protocol}"
        rows.append(("NCCL model", float(found.nccl[0]), taken))
    if found.ideal is not None:
        ideal = "both tiers as one pipeline, as fast as seen"
        rows.append(("ideal", float(found.ideal[0]), ideal))
    rows.append(("best", best[1], f"{best[0]}: textbook, at line rate"))
    rows.append(("bound", float(found.bound[0]), "no algorithm is faster"))
    for name, time, about in rows:
        made.add_row(name, *_cells(found, time), about)
    return made


def _reasons(found: Expectation) -> Iterator[RenderableType]:
    if found.paths:
        made = table(
            "NCCL's choices", "protocol", "time us", "busbw GB/s", right=("time us", "busbw GB/s")
        )
        for time, each in found.plans(0):
            cells = _cells(found, time)
            made.add_row(each.algorithm, each.protocol, cells[0], cells[2])
        yield made
    for name, why in found.refused.items():
        yield f"not {name}: {why}"


def _sizes(found: Expectation) -> RenderableType:
    right = ("size", "time us", "algbw", "busbw", "NCCL model", "bound")
    made = table(
        "size",
        "time us",
        "algbw",
        "busbw",
        "80 % us",
        "NCCL takes",
        "NCCL model",
        "bound",
        right=right,
    )
    for at, size in enumerate(found.size):
        path = found.path(at)
        taken = f"{path.algorithm} {path.protocol}" if path else "messages"
        low, high = found.low[at] * MICRO, found.high[at] * MICRO
        model = "" if found.nccl is None else f"{found.nccl[at] * MICRO:,.1f}"
        made.add_row(
            Bytes(size).binary(),
            *_cells(found, float(found.calibrated[at]), at),
            f"{low:,.4g} to {high:,.4g}",
            taken,
            model,
            f"{found.bound[at] * MICRO:,.1f}",
        )
    return made


def comparison_screen(run: Comparison) -> Iterator[RenderableType]:
    """A run, size by size, and what it lacks."""
    yield from _head(run.expectation)
    log = run.log
    where = (
        f"{log.ranks} ranks on {log.hosts} host{'s' * (log.hosts != 1)}, {log.device}"
        if log.ranks
        else "no ranks named"
    )
    yield f"log: {where}; {len(log.lines)} sizes"
    yield ""
    right = ("size", "measured us", "expected us", "ratio", "busbw", "expected")
    made = table(
        "size", "measured us", "expected us", "ratio", "busbw", "expected", "", right=right
    )
    share = run.expectation.share
    for line in run.lines:
        rates = [
            f"{share * line.size / time * GIGA:,.1f}" for time in (line.measured, line.expected)
        ]
        made.add_row(
            Bytes(line.size).binary(),
            f"{line.measured * MICRO:,.1f}",
            f"{line.expected * MICRO:,.1f}",
            f"{line.slower:.2f}",
            *rates,
            Text(line.verdict, STYLES[line.verdict]),
        )
    yield made
    yield ""
    slow = [line for line in run.lines if line.verdict == "slow"]
    if not slow:
        yield "nothing is slower than expected"
    for cause in dict.fromkeys(line.cause for line in run.lines if line.cause):
        mine = [line for line in run.lines if line.cause == cause]
        span = (
            f"{Bytes(mine[0].size).binary()} to {Bytes(mine[-1].size).binary()}"
            if len(mine) > 1
            else Bytes(mine[0].size).binary()
        )
        yield Text(f"{span}: {cause}", "yellow")
    for name, ratio in run.causes[1:]:
        yield f"also possible: {name} (measured {ratio:.2f} times that)"
    wrong = sum(line.wrong for line in log.lines)
    if wrong:
        yield Text(
            f"{wrong:,} values were wrong: the fabric corrupts data or a test failed", "bold red"
        )
    if log.skipped:
        yield from _skipped(log)
    yield f"evidence: {run.expectation.evidence}"


def _skipped(log: Log) -> Iterator[RenderableType]:
    """Lines that are not believed, the first of them with their reasons."""
    for each in log.skipped[:SKIPPED]:
        said = f"line {each.number} is left out: {each.reason}"
        yield Text(said, "yellow", no_wrap=True)
    if len(log.skipped) > SKIPPED:
        yield Text(f"{len(log.skipped) - SKIPPED:,} more lines are left out", "yellow")


def exchange_screen(found: Exchanged) -> Iterator[RenderableType]:
    """Times of a phase of the token exchange, token count by token count."""
    place = found.place
    title = f"{found.phase} of {found.model.title}'s experts"
    yield Text.assemble((title, "bold"), f"  on {place.ranks:,} GPUs of {found.cluster.title}")
    domains = f"{place.domains:,} NVLink domains" if place.domains > 1 else "one NVLink domain"
    yield f"{domains}; {found.payload} on the wire, {found.framework}, routing uniform"
    yield from _condition(found.condition, found.way)
    yield ""
    right = ("tokens/rank", "sent/rank", "time us", "GB/s/rank", "bound us")
    made = table(*right, right=right)
    for at, tokens in enumerate(found.tokens):
        rate = found.bytes[at] / found.seconds[at] * GIGA
        made.add_row(
            f"{tokens:,.0f}",
            str(Bytes(found.bytes[at])),
            f"{found.seconds[at] * MICRO:,.1f}",
            f"{rate:,.1f}",
            f"{found.bound[at] * MICRO:,.1f}",
        )
    yield made
    yield ""
    yield f"evidence: {found.evidence}"
