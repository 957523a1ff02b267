"""A table in the making: thin it onto a regular grid, fill the gaps, score what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from racktwin.kernels.grid import Grid
from racktwin.kernels.tables import SCALE, Table, TableFacts

Array = NDArray[np.float64]


BUSY = 20e-6  # launches no longer matter


class Score(msgspec.Struct, frozen=True):
    """Relative errors of the time at measured points that are not in the grid."""

    table: str
    rows: int
    kept: int
    errors: Array


class Draft(msgspec.Struct, frozen=True):
    """A thinned table with its score.

    busy: measured efficiencies where the roofline takes BUSY seconds or more.
    """

    name: str
    table: Table
    score: Score
    busy: Array


def draft(
    name: str,
    points: pl.DataFrame,
    keys: Sequence[str],
    axes: Mapping[str, Sequence[float]],
    source: str,
) -> Draft:
    """The grid of `points` (columns: `keys`, `axes`, seconds, roofline in s) on the given `axes`.

    Several times of one point become their median. Every combination of keys gets one grid.
    """
    merged = (
        points.group_by([*keys, *axes])
        .agg(pl.col("seconds", "roofline").median())
        .sort([*keys, *axes])
    )
    logarithm = np.log((merged["roofline"] / merged["seconds"]).to_numpy())
    combinations, which = _rows(merged, keys)
    sizes = [np.asarray(sorted(values), float) for values in axes.values()]
    places = [np.searchsorted(s, merged[a].to_numpy()) for s, a in zip(sizes, axes, strict=True)]
    on_grid = np.ones(merged.height, bool)
    for size, place, axis in zip(sizes, places, axes, strict=True):
        on_grid &= size[np.minimum(place, len(size) - 1)] == merged[axis].to_numpy()
    shape = (len(combinations), *(len(size) for size in sizes))
    values, measured = np.full(shape, np.nan), np.zeros(shape, bool)
    index = (which[on_grid], *(place[on_grid] for place in places))
    values[index] = np.minimum(logarithm[on_grid], 0.0)
    measured[index] = True
    some = np.asarray(measured.reshape(len(combinations), -1).any(axis=1))
    _fill(values, measured, [np.log(size) for size in sizes])
    facts = TableFacts(
        {axis: size.tolist() for axis, size in zip(axes, sizes, strict=True)}, list(keys), source
    )
    stored = np.round(values * SCALE) / SCALE
    grids = Grid(tuple(np.log(size) for size in sizes), stored, measured)
    out = ~on_grid & some[which]
    coordinates = [merged[axis].to_numpy()[out] for axis in axes]
    errors = _errors(grids, which[out], coordinates, logarithm[out])
    table = Table(facts, combinations[some], Grid(grids.axes, stored[some], measured[some]))
    busy = np.exp(logarithm[merged["roofline"].to_numpy() >= BUSY])
    return Draft(name, table, Score(name, points.height, int(on_grid.sum()), errors), busy)


def _rows(points: pl.DataFrame, keys: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    if not keys:
        return np.zeros((1, 0), np.int32), np.zeros(points.height, np.intp)
    unique, which = np.unique(points.select(keys).to_numpy(), axis=0, return_inverse=True)
    return unique.astype(np.int32), which.ravel()


def _fill(values: Array, measured: NDArray[np.bool_], axes: list[Array]) -> None:
    """Give every gap the efficiency of its nearest measured neighbour (log distance)."""
    points = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)
    for grid, known in zip(values, measured, strict=True):
        flat, mask = grid.reshape(-1), known.reshape(-1)
        have = points[mask]
        if not len(have):
            continue
        missing = np.flatnonzero(~mask)
        for chunk in np.array_split(missing, len(missing) * len(have) // 2_000_000 + 1):
            far = ((points[chunk, None] - have[None]) ** 2).sum(axis=2)
            flat[chunk] = flat[mask][far.argmin(axis=1)]


def _errors(
    grids: Grid, which: NDArray[np.intp], coordinates: list[Array], logarithm: Array
) -> Array:
    """|predicted time / measured time - 1| at each left-out point."""
    errors = np.empty(len(which))
    order = np.argsort(which, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        if not len(group):
            continue
        row = which[group[0]]
        grid = Grid(grids.axes, grids.values[row], grids.measured[row])
        predicted, _ = grid.at(*(each[group] for each in coordinates))
        errors[group] = np.abs(np.exp(logarithm[group] - predicted) - 1)
    return errors
