"""A measured efficiency on a regular grid, read between its points.

Efficiency is the roofline time over the measured time. Its logarithm is interpolated linearly
over the logarithms of the sizes; outside the grid it stays what it is at the edge, so a time
extrapolates along the roofline.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from racktwin.kernels.roofline import Array

_TINY, _FAR = 1e-30, 1e30
_NEAR = 1e-9
_FILLED = 1e3  # more than any logarithm of an efficiency


class Grid(msgspec.Struct, frozen=True):
    """Log efficiency over log axes.

    axes: ln of the sizes (any unit), ascending, at least two, one array a dimension.
    values: ln efficiency (<= 0), one dimension an axis, no gaps.
    measured: False where a value was filled in from its nearest measured neighbour.
    """

    axes: tuple[Array, ...]
    values: Array
    measured: NDArray[np.bool_]

    def at(self, *sizes: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
        """Log efficiency (ln of a fraction) at `sizes` (one an axis), and where it was measured."""
        places = [_place(axis, size) for axis, size in zip(self.axes, sizes, strict=True)]
        value: Array | float = 0.0
        inside: NDArray[np.bool_] = np.True_  # type: ignore[assignment]
        for _, _, within in places:
            inside = inside & within
        gaps = not self.measured.all()
        for corner in product((0, 1), repeat=len(places)):
            weight: Array | float = 1.0
            index = []
            for side, (below, share, _) in zip(corner, places, strict=True):
                weight = weight * (share if side else 1.0 - share)
                index.append(below + side)
            value = value + weight * self.values[tuple(index)]
            if gaps:
                inside = inside & (self.measured[tuple(index)] | (weight < _NEAR))
        return np.asarray(value), np.asarray(inside)

    def fixed(self, axis: int, size: float) -> Grid:
        """The grid over the other axes at one `size` of `axis`."""
        below, share, within = _place(self.axes[axis], float(size))
        low, high = (np.take(self.values, below + side, axis) for side in (0, 1))
        known = [np.take(self.measured, below + side, axis) for side in (0, 1)]
        measured = (
            known[0] if share < _NEAR else known[1] if share > 1 - _NEAR else known[0] & known[1]
        )
        rest = tuple(each for index, each in enumerate(self.axes) if index != axis)
        return Grid(rest, low * (1 - share) + high * share, measured & bool(within))


def fastest(grids: Sequence[Grid]) -> Grid:
    """The best efficiency of several grids over the same axes; measured ones before filled ones."""
    if len(grids) == 1:
        return grids[0]
    values = np.stack([grid.values for grid in grids])
    measured = np.stack([grid.measured for grid in grids])
    best = np.argmax(np.where(measured, values, values - _FILLED), axis=0)[None]
    pick = [np.take_along_axis(each, best, 0)[0] for each in (values, measured)]
    return Grid(grids[0].axes, pick[0], pick[1])


def _place(axis: Array, size: ArrayLike) -> tuple[NDArray[np.intp], Array, NDArray[np.bool_]]:
    """Index below `size`, share of the way to the next, and whether the axis reaches it."""
    where = np.log(np.maximum(size, _TINY))
    below = axis[1:-1].searchsorted(where, side="right")
    start = axis[below]
    # minimum and maximum: numpy.clip takes four times as long on few states
    share = np.minimum(np.maximum((where - start) / (axis[below + 1] - start), 0.0), 1.0)
    within = (where > axis[0] - _NEAR) & (where < axis[-1] + _NEAR)
    return below, share, within


def shifted(grid: Grid, axis: int, factor: float) -> Grid:
    """The grid with the sizes of one axis times `factor`."""
    axes = list(grid.axes)
    axes[axis] = axes[axis] + np.log(factor)
    return Grid(tuple(axes), grid.values, grid.measured)


def truncated(grid: Grid, axis: int, size: float) -> Grid:
    """The grid with one axis ending at `size`: beyond it the value at `size` holds, measured."""
    edge = grid.fixed(axis, size)
    keep = grid.axes[axis] < np.log(size) - _NEAR
    axes = list(grid.axes)
    axes[axis] = np.concatenate([axes[axis][keep], np.log([size, _FAR])])
    parts = [
        np.concatenate([np.compress(keep, old, axis), *[np.expand_dims(new, axis)] * 2], axis)
        for old, new in ((grid.values, edge.values), (grid.measured, edge.measured))
    ]
    return Grid(tuple(axes), parts[0], parts[1])
