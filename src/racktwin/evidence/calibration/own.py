"""An epoch of one's own: a shipped one moved as far as a few measurements say.

The same least squares as for the epochs that ship, shrunk towards the shipped one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.epoch import Epoch
from racktwin.evidence.calibration.fit import (
    OWN,
    TTFT,
    Array,
    Constant,
    Linear,
    applied,
    shares,
    solve,
)
from racktwin.evidence.calibration.scored import Scored, figures
from racktwin.evidence.calibration.study import FREE, PASSES, linearised
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.evidence.sheet import Sheet

CURVES = 3  # from which a whole curve is left out at a time, else a row
PARTS = 60  # most fits without a part


class Own:
    """`base` fitted to `rows` of its engine, all of them or without some.

    unpriced: rows that could not be predicted, with the reason.
    """

    def __init__(self, rows: Sequence[Measurement], base: Epoch) -> None:
        self.base = base
        here = [msgspec.structs.replace(row, engine=base.name, doubts=()) for row in rows]
        self.scored = Scored(Sheet(tuple(here), ()))
        self.unpriced = self.scored.refused
        self.rows = self.scored.rows
        self.measured = {name: figures(self.rows, name) for name in ("tpot", "ttft")}
        self.curves = [row.curve for row in self.rows]
        self.queued: NDArray[np.bool_] = np.zeros(len(self.rows), dtype=bool)

    def fit(self) -> Epoch:
        """The epoch that all rows lead to."""
        everything = np.ones(len(self.rows), dtype=bool)
        self.best = self.base
        for _ in range(PASSES):
            self.tpot = self._linear(OWN, "tpot")
            self.best = self._applied(OWN, self._solved(OWN, self.tpot, "tpot", everything))
        self.ttft = self._linear(TTFT, "ttft")
        self.queued = np.array([each.limit != FREE for each in self.predict(self.best)])
        found = self._solved(TTFT, self.ttft, "ttft", ~self.queued)
        self.best = self._applied(TTFT, found)
        return self.best

    def predict(self, epoch: Epoch, rows: list[Measurement] | None = None) -> list[Prediction]:
        """Predictions of `rows` (all) under an epoch."""
        return self.scored.predict({self.base.name: epoch}, rows)

    @property
    def parts(self) -> list[str]:
        """What each row is left out with: its curve, where there are some, else alone."""
        curves = list(dict.fromkeys(self.curves))
        if len(curves) >= CURVES:
            return self.curves
        return [str(index % PARTS) for index in range(len(self.rows))]

    def left_out(self) -> list[Prediction]:
        """Every row predicted by an epoch that was fitted without its part; `fit` comes first."""
        parts = np.array(self.parts)
        found: dict[int, Prediction] = {}
        for name in dict.fromkeys(self.parts):
            inside = parts == name
            rows = [self.rows[index] for index in np.flatnonzero(inside)]
            predictions = self.predict(self._without(inside), rows)
            found.update(zip(np.flatnonzero(inside), predictions, strict=True))
        return [found[index] for index in range(len(self.rows))]

    def _without(self, left: NDArray[np.bool_]) -> Epoch:
        best = self.best
        tpot = self._solved(OWN, self.tpot, "tpot", ~left)
        ttft = self._solved(TTFT, self.ttft, "ttft", ~left & ~self.queued)
        for constants, values in ((OWN, tpot), (TTFT, ttft)):
            best = applied({best.name: best}, constants, {best.name: values})[best.name]
        return best

    def _linear(self, constants: tuple[Constant, ...], figure: str) -> Linear:
        return linearised(self.scored, {self.base.name: self.best}, constants, figure)

    def _solved(
        self, constants: tuple[Constant, ...], linear: Linear, figure: str, use: NDArray[np.bool_]
    ) -> Array:
        measured = self.measured[figure]
        known = use & np.isfinite(measured)
        prior = np.array([getattr(self.base, each.name) for each in constants])
        spread = np.array([each.epoch for each in constants])
        weights = shares(self.curves, known)
        return solve(constants, linear, measured, weights, known, prior, spread)

    def _applied(self, constants: tuple[Constant, ...], values: Array) -> Epoch:
        name = self.best.name
        return applied({name: self.best}, constants, {name: values})[name]
