"""Operator tables without the points to be predicted: what leaving one out costs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.evidence.validation.point import Array
from racktwin.hardware.chip import Chip
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.grid import Grid
from racktwin.kernels.operators import Kernels

NEAR = 1e-6  # of a logarithm: a size is one of the axis


class Thinned(Kernels):
    """Kernels whose tables lack every second inner size of their last axis.

    parity: of the places on the axis that are left out, 0 or 1. axis: ln of all sizes (tokens) of
    the table that was looked up last.
    """

    def __init__(self, chip: Chip, framework: str, parity: int) -> None:
        super().__init__(chip, framework)
        self.parity = parity
        self.axis: Array = np.zeros(0)
        self._axes: dict[tuple[object, ...], Array] = {}

    def _found(self, key: tuple[object, ...], look: Callable[[], Efficiency]) -> Efficiency:
        if key not in self._kept:
            found = look()
            grid = found.grid
            self._axes[key] = np.zeros(0) if grid is None else grid.axes[-1]
            if grid is not None:
                found = msgspec.structs.replace(found, grid=thin(grid, self.parity))
            self._kept[key] = found
        self.axis = self._axes[key]
        return self._kept[key]


def thin(grid: Grid, parity: int) -> Grid:
    """The grid without every second inner size of its last axis, those at places of a `parity`."""
    places = np.arange(len(grid.axes[-1]))
    keep = (places % 2 != parity) | (places == 0) | (places == places[-1])
    axes = (*grid.axes[:-1], grid.axes[-1][keep])
    return Grid(axes, grid.values[..., keep], grid.measured[..., keep])


def left_out(axis: Array, sizes: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each size (tokens) the parity of its place on an axis, -1 off it; and whether inside.

    axis: ln of sizes (tokens). Ends are not inside: without them nothing says how to go on.
    """
    if not len(axis):
        return np.full(len(sizes), -1), np.zeros(len(sizes), dtype=bool)
    where = np.log(np.maximum(sizes, NEAR))
    near = np.abs(where[:, None] - axis).argmin(axis=1)
    on = np.abs(axis[near] - where) < NEAR
    inside = (where > axis[0] + NEAR) & (where < axis[-1] - NEAR)
    return np.where(on, near % 2, -1), inside
