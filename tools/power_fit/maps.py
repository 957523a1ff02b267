"""Grids of watts over what a kernel does, fitted to measured rows by least absolute deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from racktwin.hardware import Chip

Array = NDArray[np.float64]
AXES = (np.linspace(-11, 0, 8), np.linspace(-7, 0, 8), np.linspace(-18, -8, 6))  # log2
SHAPE = tuple(len(axis) for axis in AXES)
SIZE = int(np.prod(SHAPE))
STIFF = 2.0  # rows that a node's neighbours count for
ROUNDS, STEP, NEAR = 60, 0.8, 0.01
FOLDS = 5
ENOUGH = 200  # rows of a fold
Corners = list[tuple[NDArray[np.int64], Array]]


def coordinates(rows: pl.DataFrame, chip: Chip) -> list[Array]:
    """Log2 of the shares of the peaks and of the time of every row."""
    peak = rows["dtype"].replace_strict({k: float(v) for k, v in chip.peak.items()})
    compute = (rows["flops"] / rows["seconds"] / peak).to_numpy()
    memory = (rows["bytes"] / rows["seconds"] / float(chip.memory_bandwidth)).to_numpy()
    shares = [np.log2(np.maximum(each, 1e-6)) for each in (compute, memory)]
    return [*shares, np.log2(rows["seconds"].to_numpy())]


def corners(at: list[Array]) -> Corners:
    """The eight nodes around every row, and its weight on each."""
    places = []
    for axis, x in zip(AXES, at, strict=True):
        place = np.clip((x - axis[0]) / (axis[1] - axis[0]), 0, len(axis) - 1)
        low = np.minimum(place.astype(np.int64), len(axis) - 2)
        places.append((low, place - low))
    found: Corners = []
    for corner in range(8):
        index, weight = np.zeros(len(at[0]), np.int64), np.ones(len(at[0]))
        for dimension, (low, part) in enumerate(places):
            up = corner >> dimension & 1
            index = index * SHAPE[dimension] + low + up
            weight = weight * (part if up else 1 - part)
        found.append((index, weight))
    return found


def fit(around: Corners, watts: Array) -> tuple[Array, Array]:
    """Log watts at every node, and the rows (a weight) that each rests on.

    Reweighted least squares; a node leans on its neighbours as on STIFF rows, so one without rows
    is what they are. No node leaves the range of what was read.
    """
    goal = np.log(watts)
    nodes = np.full(SIZE, np.median(goal))
    rests: Array = np.zeros(SIZE)
    for index, weight in around:
        rests = rests + np.bincount(index, weight, SIZE)
    for _ in range(ROUNDS):
        left = goal - at_rows(nodes, around)
        trust = 1 / np.maximum(np.abs(left), NEAR)
        pull, mass = np.zeros(SIZE), np.zeros(SIZE)
        for index, weight in around:
            pull += np.bincount(index, trust * weight * left, SIZE)
            mass += np.bincount(index, trust * weight, SIZE)
        nodes = nodes + STEP * (pull + STIFF * (_neighbours(nodes) - nodes)) / (mass + STIFF)
        nodes = np.clip(nodes, goal.min(), goal.max())
    return nodes, rests


def at_rows(nodes: Array, around: Corners) -> Array:
    """Log watts of every row."""
    return np.asarray(sum(weight * nodes[index] for index, weight in around))


def _neighbours(nodes: Array) -> Array:
    """Mean of the nodes next to each."""
    grid, total, count = nodes.reshape(SHAPE), np.zeros(SHAPE), np.zeros(SHAPE)
    for axis in range(len(SHAPE)):
        values, sums, counts = (np.moveaxis(each, axis, 0) for each in (grid, total, count))
        sums[1:] += values[:-1]
        sums[:-1] += values[1:]
        counts[1:] += 1
        counts[:-1] += 1
    return np.asarray((total / count).ravel())


def left_out(rows: pl.DataFrame, around: Corners) -> Array:
    """Relative error of every row by a fit that has not seen its shape; of few shapes, its row."""
    watts = rows["watts"].to_numpy()
    shapes = rows["shape"].unique(maintain_order=True).to_list()
    number = dict(zip(shapes, range(len(shapes)), strict=True))
    fold = np.array([number[each] % FOLDS for each in rows["shape"]])
    if len(shapes) < FOLDS:
        fold = np.arange(len(watts)) % FOLDS
    errors: Array = np.full(len(watts), np.nan)
    for each in range(FOLDS):
        out = fold == each
        if (~out).sum() < ENOUGH:
            continue
        nodes, _ = fit(_of(around, ~out), watts[~out])
        errors[out] = np.abs(np.exp(at_rows(nodes, _of(around, out))) / watts[out] - 1)
    return errors


def _of(around: Corners, keep: NDArray[Any]) -> Corners:
    return [(index[keep], weight[keep]) for index, weight in around]
