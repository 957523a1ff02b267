"""Figures of finished requests, kept in bounded memory: batches of means and histograms.

Requests are counted in batches by number (order of arrival), at most `BATCHES` of them: when a
number lies beyond, neighbours merge and all batches are twice as large. So a share of the run can
be left out at the end, whatever its length, and the batches' means say how sure their mean is.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from racktwin.serving.fleet import Floats, Ints

BATCHES = 64
FINE = 200  # classes of a histogram per factor e: each is 0.5 % wide
LEAST, MOST = 1e-6, 1e6  # s that the classes reach from and to
CLASSES = math.ceil(FINE * math.log(MOST / LEAST)) + 1
EXACT = 200_000  # requests whose figures are kept one by one
SPARSE = 4  # times as many classes as cases: cases are added one by one
GROUPS = 16  # of batches, for the interval of a mean


class Spread(msgspec.Struct, frozen=True):
    """A figure over requests, in its unit. error: half of the 95 % interval of the mean."""

    count: int
    mean: float
    error: float
    p50: float
    p90: float
    p95: float
    p99: float


NONE = Spread(0, *(math.nan,) * 6)


def class_of(values: Floats) -> Ints:
    """The class that each of `values`, s, is counted in."""
    place = np.log(np.maximum(values, LEAST) * (1 / LEAST)) * FINE
    return np.minimum(place.astype(np.int64), CLASSES - 1)


def middle(places: Ints) -> Floats:
    """The middle of classes by index, s."""
    middles: Floats = LEAST * np.exp((places + 0.5) / FINE)
    return middles


class Sample:
    """Several figures (s) of each request, NaN where it has none, and what it adds to totals."""

    def __init__(
        self, figures: tuple[str, ...], totals: tuple[str, ...], *, exact: bool = True
    ) -> None:
        self.figures, self.totals = figures, totals
        self.size, self.count = 1, 0
        self.classes = np.zeros((len(figures), BATCHES, CLASSES))
        self.sums = np.zeros((len(figures), BATCHES))
        self.counts = np.zeros((len(figures), BATCHES))
        self.added = np.zeros((len(totals), BATCHES))
        self.first = np.full(BATCHES, np.inf)
        self.rows: list[tuple[Any, Floats]] | None = [] if exact else None

    @property
    def batches(self) -> int:
        """Batches in use, from the first."""
        used = np.flatnonzero(np.isfinite(self.first))
        return int(used[-1]) + 1 if len(used) else 0

    def add(
        self,
        number: Ints,
        arrival: Floats,
        figures: Floats,
        totals: Floats,
        weights: Floats | None = None,
    ) -> None:
        """Requests by number, arrival (s), figures and totals (a row each); weights: 1 each."""
        if not len(number):
            return
        while number.max() >= self.size * BATCHES:
            self._merge()
        self.count += len(number)
        if self.rows is not None:
            self.rows.append((number, figures))
            if self.count > EXACT:
                self.rows = None
        batch = number // self.size
        low, high = int(batch.min()), int(batch.max()) + 1
        rows, here = high - low, slice(low, high)
        np.minimum.at(self.first, batch, arrival)
        batch -= low
        every = np.bincount(batch, weights, rows)
        for index, values in enumerate(totals):
            if values.any():
                self.added[index, here] += np.bincount(batch, values, rows)
        for index, values in enumerate(figures):
            good = np.isfinite(values)
            mine, weight, counts = batch, weights, every
            if not good.all():
                mine, values = mine[good], values[good]
                weight = None if weights is None else weights[good]
                counts = np.bincount(mine, weight, rows)
            whole = values if weight is None else values * weight
            self.sums[index, here] += np.bincount(mine, whole, rows)
            self.counts[index, here] += counts
            flat = mine * CLASSES + class_of(values)
            classes = self.classes[index, here].reshape(-1)
            if SPARSE * len(flat) < len(classes):
                np.add.at(classes, flat, 1.0 if weight is None else weight)
            else:
                classes += np.bincount(flat, weight, len(classes))

    def widen(self, size: int) -> None:
        """Batches of at least `size` requests."""
        while self.size < size:
            self._merge()

    def _merge(self) -> None:
        """Batches twice as large, half as many."""
        self.size *= 2
        if not self.count:
            return
        half = BATCHES // 2
        for array in (self.classes, self.sums, self.counts, self.added):
            pairs = array[:, 0::2] + array[:, 1::2]
            array[:] = 0
            array[:, :half] = pairs
        self.first[:half] = np.minimum(self.first[0::2], self.first[1::2])
        self.first[half:] = np.inf

    def spread(self, figure: str, span: slice, *, rank: bool = False) -> Spread:
        """A figure over the batches in `span`.

        rank: percentiles are values, the one after that share of all (MLPerf loadgen, results.cc),
        not between two.
        """
        index = self.figures.index(figure)
        counts, sums = self.counts[index, span], self.sums[index, span]
        count = float(counts.sum())
        if not count:
            return NONE
        levels = np.array([0.5, 0.9, 0.95, 0.99])
        if self.rows is None:
            points = self._from_classes(self.classes[index, span].sum(0), levels)
        else:
            number = np.concatenate([each for each, _ in self.rows])
            values = np.concatenate([each[index] for _, each in self.rows])
            batch = number // self.size
            start, stop, _ = span.indices(BATCHES)
            values = values[(batch >= start) & (batch < stop) & np.isfinite(values)]
            above = (len(values) * levels).astype(np.int64)
            points = np.partition(values, above)[above] if rank else np.quantile(values, levels)
        return Spread(
            int(count), float(sums.sum() / count), error(counts, sums), *map(float, points)
        )

    def _from_classes(self, classes: Floats, levels: Floats) -> Floats:
        """The middle of the class in which each level of all cases is reached."""
        reached = np.cumsum(classes)
        index = np.searchsorted(reached, levels * reached[-1])
        return middle(index)

    def batch_points(self, figure: str, level: float) -> Floats:
        """A level (0..1) of the figure in each batch, from its classes; NaN where it is empty."""
        index = self.figures.index(figure)
        found = [
            self._from_classes(row, np.array([level]))[0] if row.any() else np.nan
            for row in self.classes[index]
        ]
        return np.array(found)

    def total(self, name: str, span: slice) -> float:
        """A total over the batches in `span`, in its unit."""
        return float(self.added[self.totals.index(name), span].sum())


def error(counts: Floats, sums: Floats) -> float:
    """Half of the 95 % interval of a mean from counts and sums (any unit) of batches.

    They make up to `GROUPS` means; NaN when there are fewer than five.
    Source: batch means, Law, Simulation Modeling and Analysis.
    """
    groups = min(GROUPS, int((counts > 0).sum()))
    if groups < 5:
        return math.nan
    edges = np.linspace(0, len(counts), groups + 1).astype(int)[:-1]
    many = np.add.reduceat(counts, edges)
    means = np.add.reduceat(sums, edges)[many > 0] / many[many > 0]
    free = len(means) - 1
    student = 1.96 + 2.4 / free + 2.9 / free**2
    return float(student * means.std(ddof=1) / math.sqrt(len(means)))
