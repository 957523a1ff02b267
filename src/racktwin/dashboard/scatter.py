"""A chart of points on two axes that start at zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from racktwin.dashboard import svg

WIDTH, HEIGHT = 760.0, 380.0
LEFT, BOTTOM, TOP, RIGHT = 70.0, 50.0, 20.0, 20.0


class Point(msgspec.Struct, frozen=True):
    """A point: position in data units, series it belongs to, what hovering says."""

    x: float
    y: float
    series: int
    title: str
    radius: float = 4


def ticks(most: float, about: int = 6) -> list[float]:
    """Round numbers from 0 to just beyond `most`."""
    if not most > 0:
        return [0.0, 1.0]
    step = 10 ** math.floor(math.log10(most / about))
    step = next(step * factor for factor in (1, 2, 5, 10) if most / (step * factor) <= about)
    return [step * index for index in range(math.ceil(most / step) + 1)]


def scatter(
    points: Sequence[Point],
    *,
    across: str,
    up: str,
    series: Sequence[str],
    limit: float | None = None,
    limit_label: str = "",
) -> str:
    """The chart. across, up: axis labels with units; limit: a vertical line at that x."""
    xs = ticks(max([each.x for each in points] + ([limit] if limit else []), default=1.0))
    ys = ticks(max((each.y for each in points), default=1.0))

    def x_of(value: float) -> float:
        return LEFT + value / xs[-1] * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - value / ys[-1] * (HEIGHT - BOTTOM - TOP)

    marks = []
    for value in xs:
        marks.append(svg.line(x_of(value), TOP, x_of(value), HEIGHT - BOTTOM, "grid"))
        marks.append(svg.words(x_of(value), HEIGHT - BOTTOM + 16, f"{value:,g}", "middle"))
    for value in ys:
        marks.append(svg.line(LEFT, y_of(value), WIDTH - RIGHT, y_of(value), "grid"))
        marks.append(svg.words(LEFT - 8, y_of(value) + 4, f"{value:,g}", "end"))
    marks.append(svg.words((LEFT + WIDTH) / 2, HEIGHT - 12, across, "middle"))
    marks.append(svg.words(LEFT, TOP - 6, up))
    if limit:
        marks.append(svg.line(x_of(limit), TOP, x_of(limit), HEIGHT - BOTTOM, "limit"))
        marks.append(svg.words(x_of(limit) + 6, TOP + 14, limit_label))
    for each in points:
        colour = svg.PALETTE[each.series % len(svg.PALETTE)]
        marks.append(svg.dot(x_of(each.x), y_of(each.y), each.radius, colour, each.title))
    for index, name in enumerate(series):
        y = TOP + 14 + 18 * index
        marks.append(svg.dot(WIDTH - 170, y - 4, 5, svg.PALETTE[index]))
        marks.append(svg.words(WIDTH - 158, y, name))
    return svg.drawing(WIDTH, HEIGHT, marks, f"{up} against {across}")
