"""A scatter of points in characters."""

from __future__ import annotations

from collections.abc import Sequence


def scatter(
    across: Sequence[float], up: Sequence[float], width: int = 40, height: int = 7
) -> list[str]:
    """Lines of a plot with both axes from zero; one star per occupied cell."""
    right, top = max(across, default=1.0) or 1.0, max(up, default=1.0) or 1.0
    cells = [[" "] * width for _ in range(height)]
    for x, y in zip(across, up, strict=True):
        column = min(width - 1, int(x / right * width))
        row = min(height - 1, int(y / top * height))
        cells[height - 1 - row][column] = "*"
    label = f"{top:,.0f}"
    lines = [
        f"{label if index == 0 else '':>7} |{''.join(row).rstrip()}"
        for index, row in enumerate(cells)
    ]
    return [*lines, f"{'0':>7} +{'-' * width}", f"{'':8}0{f'{right:,.0f}':>{width}}"]
