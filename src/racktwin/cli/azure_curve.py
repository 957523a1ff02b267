"""Azure's serving curve, point by point: what was measured, what is predicted, how far off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import RenderableType

from racktwin.cli.console import table
from racktwin.evidence.validation.point import Point, Validation, Value

GOAL = 0.12  # error within which every point should lie
LONGEST = 24  # characters of a layout
WHOLE = 100  # from which a number needs no decimals
FIGURES = {"total_rate": "tok/s/GPU", "tpot": "TPOT ms"}


def curve(validation: Validation) -> Iterator[RenderableType]:
    """A line for each point of the curve, and how many are within the goal."""
    points = [each for each in validation.points if each.traits.get("kind") == "serving"]
    if not points:
        return
    heads = [name for title in FIGURES.values() for name in (title, "predicted", "error")]
    made = table("serving curve", "clients", *heads)
    for column in made.columns[1:]:
        column.justify = "right"
    outside = 0
    for point in sorted(points, key=lambda each: float(each.cells["concurrency"])):
        cells, far = _cells(point)
        outside += bool(far)
        clients = f"{float(point.cells['concurrency']):,.0f}"
        layout = re.sub(r"\s*\([^)]*\)?", "", point.cells["config"].partition(";")[0])
        made.add_row(layout[:LONGEST], clients, *cells)
    yield made
    goal = f"{100 * GOAL:.0f} %"
    yield f"{len(points) - outside} of {len(points)} points within {goal} in both figures; ! beyond"


def _cells(point: Point) -> tuple[list[str], bool]:
    """Three cells a figure, and whether one is beyond the goal."""
    cells, far = [], False
    for name in FIGURES:
        value = next(each for each in point.values if each.figure == name)
        off = _error(value)
        beyond = off is not None and abs(off) > GOAL
        error = "" if off is None else f"{100 * off:+.1f} %{'!' if beyond else ' '}"
        cells += [_number(value.measured), _number(value.value), error]
        far = far or beyond
    return cells, far


def _error(value: Value) -> float | None:
    return value.value / value.measured - 1 if value.measured else None


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= WHOLE else f"{value:.2f}"
