"""Constants of engine epochs from measurements: robust, and shrunk towards their engine's values.

Predicted times are close to linear in the constants, so each round prices all rows once per
constant and then solves a small weighted least-squares problem per engine and per epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch, names
from racktwin.evidence import data

Array = NDArray[np.float64]
Constants = dict[str, Epoch]


class Constant(msgspec.Struct, frozen=True):
    """A constant to fit, all in its own `unit`.

    start: before any data; engine, epoch: standard deviations of engines around the start and of
    epochs around their engine; low, high: bounds; step: for the derivative. meaning: in words.
    only: epochs with a value of their own, all where none is named.
    """

    name: str
    unit: str
    meaning: str
    start: float
    engine: float
    epoch: float
    low: float
    high: float
    step: float
    only: tuple[str, ...] = ()

    def spread(self, name: str) -> float:
        """Standard deviation of an epoch around its engine, any unit (the constant's own)."""
        return self.epoch if not self.only or name in self.only else self.engine


def _constants(figure: str) -> tuple[Constant, ...]:
    return msgspec.convert(data.load("constants")[figure], tuple[Constant, ...])


TPOT, TTFT = _constants("tpot"), _constants("ttft")
OWN = (*(each for each in TPOT if not each.only), *_constants("own"))
NOISE = 0.08  # relative; how far a well-modelled row lies from its measurement
FLOOR = (
    0.04  # relative; residuals below it weigh alike (above, each counts by its size, not square)
)
ENOUGH = 10  # rows; an epoch with fewer keeps the values of its engine
ROUNDS = 25


class Linear(msgspec.Struct):
    """Predictions around a point: `value` (s) and its derivatives, one column per constant."""

    value: Array
    slope: Array
    at: Array

    def __call__(self, constants: Array) -> Array:
        """Predictions (s) at other values of the constants, one row of them per measurement."""
        moved = np.einsum("rc,rc->r", self.slope, constants - self.at)
        found: Array = np.maximum(self.value + moved, 0.05 * self.value)
        return found


def started(constants: tuple[Constant, ...]) -> Constants:
    """Every epoch of the catalog with the constants at their start."""
    values = {each.name: each.start for each in constants}
    return {name: msgspec.structs.replace(epoch(name), **values) for name in names()}


def fit(
    constants: tuple[Constant, ...],
    linear: Linear,
    measured: Array,
    epochs: list[str],
    alike: list[str],
    use: NDArray[np.bool_],
) -> dict[str, Array]:
    """Values of the constants by epoch, from the rows in `use`.

    measured: s, per row; epochs: the epoch of every row; alike: rows of one name err together,
    so n of them count as the square root of n.
    """
    use = use & np.isfinite(measured)
    weights = shares(alike, use)
    of = np.array(epochs)
    engine_of = np.array([each.partition("-")[0] for each in epochs])
    solved = partial(solve, constants, linear, measured, weights)
    found = {}
    for engine in sorted({each.partition("-")[0] for each in names()}):
        start = np.array([each.start for each in constants])
        spread = np.array([each.engine for each in constants])
        centre = solved(use & (engine_of == engine), start, spread)
        for name in names(engine):
            rows = use & (of == name)
            narrow = np.array([each.spread(name) for each in constants])
            found[name] = solved(rows, centre, narrow) if rows.sum() >= ENOUGH else centre
    return found


def shares(alike: list[str], use: NDArray[np.bool_]) -> Array:
    """Weight of every row, 1: the less, the more rows are `alike`."""
    counts = Counter(name for name, used in zip(alike, use, strict=True) if used)
    return np.array([1 / np.sqrt(max(counts[name], 1)) for name in alike])


def solve(
    constants: tuple[Constant, ...],
    linear: Linear,
    measured: Array,
    weights: Array,
    rows: NDArray[np.bool_],
    prior: Array,
    spread: Array,
) -> Array:
    """Values of the constants: robust least squares of log residuals with a Gaussian prior.

    measured: s; weights: of the rows, 1; prior, spread: any unit, the constants' own.
    """
    low = np.array([each.low for each in constants])
    high = np.array([each.high for each in constants])
    value = prior.copy()
    if not rows.any():
        return value
    part = Linear(linear.value[rows], linear.slope[rows], linear.at[rows])
    wanted, counted = measured[rows], weights[rows]
    for _ in range(ROUNDS):
        now = part(np.broadcast_to(value, part.at.shape))
        residual = np.log(now / wanted)
        weight = counted / (NOISE * np.maximum(np.abs(residual), FLOOR))
        slope = part.slope / now[:, None]
        square = slope.T @ (slope * weight[:, None]) + np.diag(1 / spread**2)
        pull = -slope.T @ (weight * residual) - (value - prior) / spread**2
        value = np.clip(value + 0.7 * np.linalg.solve(square, pull), low, high)
    return value


def applied(
    base: Mapping[str, Epoch], constants: tuple[Constant, ...], found: dict[str, Array]
) -> Constants:
    """The epochs of `base` with the fitted constants in them; found: any unit, by epoch."""
    fields = [each.name for each in constants]
    return {
        name: msgspec.structs.replace(
            base[name], **dict(zip(fields, (float(each) for each in values), strict=True))
        )
        for name, values in found.items()
    }
