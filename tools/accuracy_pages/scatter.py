"""Predicted against measured values as a small SVG: one path a colour, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

WIDE, HIGH = 560, 420
LEFT, TOP, SIDE = 64, 16, 340  # of the square that holds the points
COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e5bb5", "#d68910", "#555555", "#17a2a2", "#9a7d0a")
DASHES = ' stroke-dasharray="3 3"'
DOTS = 'stroke-width="3.2" stroke-linecap="round" stroke-opacity=".55" fill="none"'
Pair = tuple[float, float]
Scale = Callable[[float], float]


def chart(title: str, unit: str, groups: Mapping[str, Sequence[Pair]]) -> str:
    """The chart of (measured, predicted) pairs by group; the lines are 1, and 2/3 and 3/2."""
    values = [value for pairs in groups.values() for pair in pairs for value in pair]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(value: float) -> float:
        return SIDE * (math.log10(value) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{title}">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="#fff"/>',
        *_frame(low, high, at),
    ]
    for factor, dash in ((1.0, ""), (1.5, DASHES), (2 / 3, DASHES)):
        parts.append(_line(factor, at, 10.0**low, 10.0**high, dash))
    for index, (name, pairs) in enumerate(groups.items()):
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f'<path stroke="{colour}" {DOTS} d="{_dots(pairs, at)}"/>')
        y = TOP + 14 + 18 * index
        x = LEFT + SIDE + 16
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{name} ({len(pairs):,})</text>')
    middle = LEFT + SIDE / 2
    parts.append(
        f'<text x="{middle}" y="{TOP + SIDE + 40}" text-anchor="middle">measured {unit}</text>'
    )
    parts.append(
        f'<text transform="translate(14 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">'
        f"predicted {unit}</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def _frame(low: int, high: int, at: Scale) -> list[str]:
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>'
    ]
    for power in range(low, high + 1):
        place = at(10.0**power)
        x, y = LEFT + place, TOP + SIDE - place
        name = f"{10.0**power:g}"
        parts.append(f'<text x="{x:.0f}" y="{TOP + SIDE + 18}" text-anchor="middle">{name}</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{name}</text>')
        parts.append(
            f'<path d="M{x:.0f} {TOP}v{SIDE}M{LEFT} {y:.0f}h{SIDE}" stroke="#eee" fill="none"/>'
        )
    return parts


def _line(factor: float, at: Scale, low: float, high: float, dash: str) -> str:
    """Where predicted is `factor` times measured, inside the square."""
    first, last = max(low, low / factor), min(high, high / factor)
    ends = [(LEFT + at(x), TOP + SIDE - at(min(max(x * factor, low), high))) for x in (first, last)]
    (x1, y1), (x2, y2) = ends
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#666" fill="none"{dash}/>'


def _dots(pairs: Sequence[Pair], at: Scale) -> str:
    """Points as strokes of no length, each once to a tenth of a unit."""
    places = {(round(LEFT + at(x), 1), round(TOP + SIDE - at(y), 1)) for x, y in pairs}
    return "".join(f"M{x:g} {y:g}h0" for x, y in sorted(places))
