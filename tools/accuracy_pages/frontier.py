"""Throughput against interactivity as a small SVG: a line a machine, a dot a published point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDE, HIGH = 640, 420
LEFT, TOP, ACROSS, DOWN = 70, 16, 440, 340
COLOURS = {"gb300": "#1b6ca8", "h200": "#c0392b", "h100": "#d68910"}
MOST, TICK = 160.0, 20  # tokens/s/user shown
LOW, DECADES = 1.0, 3  # power of ten at the bottom; powers up to the top are shown
Pair = tuple[float, float]


def _place(user: float, rate: float) -> tuple[float, float]:
    high = LOW + DECADES
    share = (math.log10(rate) - LOW) / (high - LOW)
    return LEFT + ACROSS * user / MOST, TOP + DOWN * (1 - share)


def chart(curves: Mapping[str, Sequence[Pair]], points: Mapping[str, Sequence[Pair]]) -> str:
    """The chart; pairs are (tokens/s/user, output tokens/s/GPU)."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" '
        'font-family="sans-serif" font-size="12" role="img" '
        'aria-label="Output tokens/s/GPU against tokens/s/user">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="#fff"/>',
        *_axes(),
    ]
    for index, (chip, curve) in enumerate(curves.items()):
        colour = COLOURS[chip]
        shown = [_place(*pair) for pair in curve if _inside(pair)]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in shown)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for pair in points.get(chip, ()):
            if _inside(pair):
                x, y = _place(*pair)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        y, x = TOP + 14 + 18 * index, LEFT + ACROSS + 14
        parts.append(f'<path d="M{x} {y - 4}h18" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 24}" y="{y}">{chip.upper()}</text>')
    parts.append(f'<text x="{LEFT + ACROSS + 14}" y="{TOP + 78}">dots: published</text>')
    return "\n".join([*parts, "</svg>", ""])


def _inside(pair: Pair) -> bool:
    return pair[0] <= MOST and LOW <= math.log10(pair[1]) <= LOW + DECADES


def _axes() -> list[str]:
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{DOWN}" fill="none" stroke="#999"/>'
    ]
    bottom = TOP + DOWN
    for user in range(0, int(MOST) + 1, TICK):
        x = LEFT + ACROSS * user / MOST
        parts.append(f'<text x="{x:.0f}" y="{bottom + 18}" text-anchor="middle">{user}</text>')
    for power in range(DECADES + 1):
        rate = 10 ** (LOW + power)
        y = _place(0, rate)[1]
        parts.append(f'<path d="M{LEFT} {y:.0f}h{ACROSS}" stroke="#eee"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{rate:,.0f}</text>')
    middle = LEFT + ACROSS / 2
    parts.append(f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle">tokens/s/user</text>')
    parts.append(
        f'<text transform="translate(14 {TOP + DOWN / 2}) rotate(-90)" text-anchor="middle">'
        "output tokens/s/GPU</text>"
    )
    return parts
