"""A chart of curves over one axis that starts at zero, or below it where values do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from racktwin.dashboard import svg
from racktwin.dashboard.scatter import ticks

WIDTH, HEIGHT = 760.0, 220.0
LEFT, BOTTOM, TOP, RIGHT = 70.0, 42.0, 22.0, 20.0
LETTER = 6.5


def curves(
    xs: Sequence[float],
    rows: Mapping[str, Sequence[float]],
    *,
    across: str,
    up: str,
    at: float | None = None,
    limit: float | None = None,
) -> str:
    """One curve per row; across, up: axis labels with units. Gaps where a value is not finite.

    at, limit: where a dashed line stands across the first axis, and the second.
    """
    finite = [each for row in rows.values() for each in row if math.isfinite(each)]
    finite += [] if limit is None else [limit]
    marks_x, marks_y = ticks(max(xs, default=1.0)), _marks(finite)
    height = marks_y[-1] - marks_y[0]

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + x / marks_x[-1] * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (y - marks_y[0]) / height * (HEIGHT - BOTTOM - TOP),
        )

    marks = []
    for value in marks_x:
        x, bottom = place(value, marks_y[0])
        marks.append(svg.line(x, TOP, x, bottom, "grid"))
        marks.append(svg.words(x, bottom + 16, f"{value:,g}", "middle"))
    for value in marks_y:
        left, y = place(0.0, value)
        marks.append(svg.line(left, y, WIDTH - RIGHT, y, "grid"))
        marks.append(svg.words(left - 8, y + 4, f"{value:,g}", "end"))
    if at is not None:
        x, bottom = place(at, marks_y[0])
        marks.append(svg.line(x, TOP, x, bottom, "limit"))
    if limit is not None:
        left, y = place(0.0, limit)
        marks.append(svg.line(left, y, WIDTH - RIGHT, y, "limit"))
    marks.append(svg.words((LEFT + WIDTH) / 2, HEIGHT - 8, across, "middle"))
    marks.append(svg.words(LEFT, TOP - 8, up))
    for index, (name, row) in enumerate(rows.items()):
        colour = svg.PALETTE[index % len(svg.PALETTE)]
        points = [place(x, y) for x, y in zip(xs, row, strict=True) if math.isfinite(y)]
        marks.append(svg.curve(points, colour, name))
    marks += _legend(list(rows)) if len(rows) > 1 else []
    return svg.drawing(WIDTH, HEIGHT, marks, f"{up} against {across}")


def _marks(values: Sequence[float]) -> list[float]:
    """Round numbers around all values and zero."""
    least, most = min(values, default=0.0), max(values, default=1.0)
    if least >= 0:
        return ticks(most, 4)
    step = ticks(max(most, -least), 4)[1]
    above = math.ceil(max(most, 0.0) / step)
    return [step * index for index in range(math.floor(least / step), above + 1)]


def _legend(names: Sequence[str]) -> list[str]:
    """Names of the curves, ending at the right edge."""
    marks = []
    x = WIDTH - RIGHT - sum(map(_width, names))
    for index, name in enumerate(names):
        marks.append(svg.rectangle(x, TOP - 16, 10, 10, svg.PALETTE[index % len(svg.PALETTE)]))
        marks.append(svg.words(x + 14, TOP - 7, name))
        x += _width(name)
    return marks


def _width(name: str) -> float:
    """Of a name with its mark, about."""
    return 30.0 + LETTER * len(name)
