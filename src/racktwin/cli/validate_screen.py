"""The screens of `racktwin validate`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.azure_curve import curve
from racktwin.cli.console import table
from racktwin.evidence.amount import amount
from racktwin.evidence.error import Errors
from racktwin.evidence.validation.point import Validation
from racktwin.evidence.validation.sweep import SHIPPED
from racktwin.evidence.validation.tally import Group, Summary, Tally

TITLES = {
    "ttft": "TTFT",
    "tpot": "TPOT",
    "output_rate": "out tok/s/GPU",
    "rate": "out tok/s",
    "total_rate": "tok/s/GPU",
    "busbw": "busbw",
    "time": "time",
    "compute": "FLOP/s",
    "power": "power",
    "throughput": "throughput",
}
HELD = {
    "out of fold": "predicted by constants that saw no row of the same curve",
    "left out": "predicted from the table without the point",
}
MOST_GROUPS = 24  # lines of one trait
MOST_REASONS = 16
MOST_NOTES = 6
LONGEST = 88  # characters of a reason
COLUMNS = ("rows", "mean", "median", "p90", "bias", "80 % hold", "width")


def screen(validation: Validation, found: Summary) -> Iterator[RenderableType]:
    """The parts of the screen of one set, top to bottom."""
    yield from _head(validation, found)
    scored = any(each.errors.count for each in found.everything.figures)
    if scored:
        yield ""
        yield _whole(validation, found)
        for by in dict.fromkeys(group.by for group in found.groups):
            yield ""
            yield _groups(by, [each for each in found.groups if each.by == by])
        if validation.set == "azure":
            yield ""
            yield from curve(validation)
        yield ""
        yield from _legend(validation, found)
    elif found.everything.answered:
        yield "nothing measured stands in the rows: predicted, not scored"
    yield from _remarks(validation, found)


def overview(pairs: Sequence[tuple[Validation, Summary]]) -> Iterator[RenderableType]:
    """Every set on one screen: its figures without the doubted rows."""
    made = table("set", "figure", *COLUMNS, right=COLUMNS)
    for validation, found in pairs:
        for tally in found.trusted.figures:
            if tally.errors.count:
                title = TITLES.get(tally.figure, tally.figure)
                made.add_row(validation.set, title, *_cells(tally, of=tally.honest))
    yield made
    yield ""
    for validation, found in pairs:
        yield from _head(validation, found)


def _head(validation: Validation, found: Summary) -> Iterator[RenderableType]:
    rows = len(validation.points)
    doubted = f" ({found.doubted:,} doubted)" if found.doubted else ""
    counts = [f"{found.everything.answered:,} answered{doubted}", f"{found.refused:,} refused"]
    twice = "stands twice" if found.repeated == 1 else "stand twice"
    counts += [f"{found.repeated:,} {twice}"] if found.repeated else []
    title = (validation.set, "bold")
    shipped = validation.source == SHIPPED
    of = f" of {SHIPPED}" if shipped else ""
    yield Text.assemble(title, f"  {amount(rows, 'row')}{of}: {', '.join(counts)}")
    if validation.unscored:
        cells = amount(validation.unscored, "measured cell")
        yield f"not scored, since no positive number: {cells}"
    if not shipped:
        yield Text(f"of {validation.source}", no_wrap=True)


def _whole(validation: Validation, found: Summary) -> Table:
    made = table("figure", "", *COLUMNS, right=COLUMNS)
    for with_, without in zip(found.everything.figures, found.trusted.figures, strict=True):
        lines = list(_lines(validation, found, with_, without))
        for index, (name, cells) in enumerate(lines):
            title = TITLES.get(with_.figure, with_.figure) if not index else ""
            made.add_row(title, name, *cells)
    return made


def _lines(
    validation: Validation, found: Summary, with_: Tally, without: Tally
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lines of a figure: what they are of, and their cells."""
    held = without.held.count > 0
    if without.errors.count:
        yield "", _cells(without, intervals=not held)
    if held:
        yield validation.held, _cells(without, of=without.held)
    if found.doubted and with_.errors.count != without.errors.count:
        yield "with doubted rows", _cells(with_, of=with_.honest)
    for group in found.apart:
        for tally in group.figures:
            if tally.figure == with_.figure and tally.errors.count:
                yield f"apart: {group.name}", _cells(tally, of=tally.honest)
    for noise in found.noise:
        if noise.figure == with_.figure and noise.configurations:
            yield "repeated runs", _cells(without, of=noise.errors, intervals=False)


def _cells(tally: Tally, *, of: Errors | None = None, intervals: bool = True) -> tuple[str, ...]:
    off = of or tally.errors
    shares = [_share(each) for each in (off.mean, off.median, off.p90)]
    bias = f"{100 * off.bias:+.1f} %" if math.isfinite(off.bias) else ""
    width = f"±{50 * tally.width:.0f} %" if math.isfinite(tally.width) else ""
    inside = (_share(tally.coverage, 0), width) if intervals else ("", "")
    return f"{off.count:,}", *shares, bias, *inside


def _share(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %" if math.isfinite(value) else ""


def _groups(by: str, groups: Sequence[Group]) -> Table:
    """Errors of the first two figures of every group, one line each."""
    scored = [tally.figure for group in groups for tally in group.figures if tally.errors.count]
    shown = tuple(dict.fromkeys(scored))[:2]
    made = table(by, "rows", right=("rows",))
    for name in shown:
        for head in (f"{TITLES.get(name, name)} mean", "median", "p90", "bias"):
            made.add_column(head, justify="right")
    largest = sorted(groups, key=lambda group: -group.answered)[:MOST_GROUPS]
    for group in sorted(largest, key=_order):
        cells = [
            _cells(each, of=each.honest)[1:5]
            for n in shown
            for each in group.figures
            if each.figure == n
        ]
        made.add_row(group.name, f"{group.answered:,}", *(cell for four in cells for cell in four))
    if len(groups) > MOST_GROUPS:
        made.add_row(f"{len(groups) - MOST_GROUPS} more: --json")
    return made


def _order(group: Group) -> tuple[float, str]:
    """Counts by size, names by their letters."""
    return (float(group.name) if group.name.isdigit() else 0.0), group.name


def _legend(validation: Validation, found: Summary) -> Iterator[RenderableType]:
    yield "errors are |predicted / measured - 1|; bias is the median signed error; width is half"
    yield "the 80 % interval over the prediction"
    if any(each.held.count for each in found.everything.figures):
        yield f"{validation.held}: {HELD[validation.held]}, and so are intervals and groups"
    if any(each.configurations for each in found.noise):
        yield "repeated runs: of one configuration, against their mean; no prediction can be nearer"


def _remarks(validation: Validation, found: Summary) -> Iterator[RenderableType]:
    if found.reasons:
        yield ""
        yield Text("no answer", style="bold")
        told: Counter[str] = Counter()
        for text, count in found.reasons:
            told[text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."] += count
        shown = told.most_common(MOST_REASONS + (len(told) == MOST_REASONS + 1))
        for text, count in shown:
            yield f"{count:7,}  {text}"
        if rest := told.total() - sum(count for _, count in shown):
            other = amount(len(told) - len(shown), "other reason")
            yield f"{rest:7,}  of {other}: points.csv of --out names each"
    for note in validation.notes[:MOST_NOTES]:
        yield f"note: {note}"
