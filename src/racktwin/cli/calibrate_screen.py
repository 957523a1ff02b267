"""The screen of `racktwin calibrate`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.cli.validate_screen import TITLES
from racktwin.evidence.amount import amount
from racktwin.evidence.calibration.calibration import Calibration

ERRORS = ("before", "after", "left out")
WIDTHS = ("80 % interval", "was")
MICRO, MILLI = 1e-6, 1e-3
MOST_NOTES = 6


def screen(found: Calibration, kept: str) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    points = found.points
    count = amount(len(points.rows), "point")
    verb = "has" if len(points.rows) == 1 else "have"
    yield Text.assemble((found.epoch.name, "bold"), f"  {found.base.name} as {count} {verb} it")
    yield Text(f"of {points.file}", no_wrap=True)
    yield ", ".join((*found.chips, *found.models, *found.roles))
    yield ""
    yield _errors(found)
    yield ""
    yield _constants(found)
    yield ""
    yield "errors are means of |predicted / measured - 1|; left out: of points the fit did not see"
    yield f"({found.held}); the 80 % interval is made of those"
    if points.unmeasured:
        rows = amount(points.unmeasured, "row")
        yield f"note: {rows} without a measured TPOT not used"
    for note in points.notes[:MOST_NOTES]:
        yield f"note: {note}"
    yield Text(f"kept {_short(kept)}", no_wrap=True)
    yield f"use it: engine: {found.epoch.name} in a deployment.yaml, --engine {found.epoch.name}"


def _errors(found: Calibration) -> RenderableType:
    made = table("", "points", *ERRORS, *WIDTHS, right=("points", *ERRORS, *WIDTHS))
    for each in found.scatter:
        if not each.left_out.count:
            continue
        shares = [f"{100 * e.mean:.1f} %" for e in (each.before, each.after, each.left_out)]
        now = f"-{100 * (1 - each.low):.0f} +{100 * (each.high - 1):.0f} %"
        title = TITLES.get(each.figure, each.figure)
        made.add_row(title, f"{each.left_out.count}", *shares, now, f"±{100 * each.was:.0f} %")
    return made


def _constants(found: Calibration) -> RenderableType:
    columns = ("shipped", "yours")
    made = table("constant", *columns, "unit", "", right=columns)
    for each in found.constants:
        values = [getattr(epoch, each.name) for epoch in (found.base, found.epoch)]
        unit, scale = _unit(each.unit, max(values))
        made.add_row(each.name, *(f"{v / scale:.3g}" for v in values), unit, each.meaning)
    return made


def _unit(unit: str, value: float) -> tuple[str, float]:
    """The unit a constant is shown in and its size; value: in `unit`."""
    if unit == "s":
        return ("us", MICRO) if value < MILLI else ("ms", MILLI)
    return ("", 1.0) if unit == "1" else (unit, 1.0)


def _short(path: str) -> str:
    """A path with the user's own folder as '~'."""
    own = str(Path.home())
    return f"~{path.removeprefix(own)}" if path.startswith(own + os.sep) else path
