"""A scatter of points in characters."""

from __future__ import annotations

from collections.abc import Sequence


def scatter(
    across: Sequence[float],
    up: Sequence[float],
    marked: tuple[float, float],
    width: int = 40,
    height: int = 7,
) -> list[str]:
    """Lines of a plot with both axes from zero; a star per occupied cell, O at `marked`."""
    right, top = max(*across, marked[0]), max(*up, marked[1])
    cells = [[" "] * width for _ in range(height)]
    points = [(x, y, "*") for x, y in zip(across, up, strict=True)]
    for x, y, sign in (*points, (*marked, "O")):
        column = min(width - 1, int(x / right * width))
        row = min(height - 1, int(y / top * height))
        cells[height - 1 - row][column] = sign
    label = f"{top:,.0f}"
    lines = [
        f"{label if index == 0 else '':>7} |{''.join(row).rstrip()}"
        for index, row in enumerate(cells)
    ]
    return [*lines, f"{'0':>7} +{'-' * width}", f"{'':8}0{f'{right:,.0f}':>{width}}"]
