"""Stacked horizontal bars: where the time of a step or the memory of a GPU goes."""

from __future__ import annotations

from collections.abc import Mapping

from racktwin.dashboard import svg

WIDTH, BAR, GAP, LEFT = 760.0, 26.0, 12.0, 90.0


def stacked(rows: Mapping[str, Mapping[str, float]], unit: str, form: str = ",.1f") -> str:
    """One bar per row, one colour per part; values and their unit are in the legend and on hover.

    Negative parts are left out of the bar (and said where they matter).
    """
    names = list(dict.fromkeys(name for parts in rows.values() for name in parts))
    most = max((sum(max(0.0, v) for v in parts.values()) for parts in rows.values()), default=1.0)
    marks, y = [], 4.0
    for row, parts in rows.items():
        marks.append(svg.words(LEFT - 8, y + BAR / 2 + 4, row, "end"))
        x = LEFT
        for name, value in parts.items():
            width = max(0.0, value) / (most or 1.0) * (WIDTH - LEFT - 10)
            colour = svg.PALETTE[names.index(name) % len(svg.PALETTE)]
            marks.append(svg.rectangle(x, y, width, BAR, colour, f"{name}: {value:{form}} {unit}"))
            x += width
        y += BAR + GAP
    x, y = LEFT, y + 12
    for index, name in enumerate(names):
        values = [parts[name] for parts in rows.values() if name in parts]
        text = f"{name} {' / '.join(f'{value:{form}}' for value in values)} {unit}"
        if x + 7.0 * len(text) > WIDTH:
            x, y = LEFT, y + 18
        marks.append(svg.rectangle(x, y - 9, 10, 10, svg.PALETTE[index % len(svg.PALETTE)]))
        marks.append(svg.words(x + 14, y, text))
        x += 7.0 * len(text) + 26
    return svg.drawing(WIDTH, y + 10, marks, "stacked bars")
