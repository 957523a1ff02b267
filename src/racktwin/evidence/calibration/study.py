"""The whole calibration: linearise, fit, repeat; and the same with parts of the data left out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.evidence.calibration.fit import (
    TPOT,
    TTFT,
    Array,
    Constant,
    Constants,
    Linear,
    applied,
    fit,
    started,
)
from racktwin.evidence.calibration.scored import Scored, figures
from racktwin.evidence.error import fold
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.prediction import Prediction

PASSES = 3  # of TPOT
FIRST_PASSES = 6  # of TTFT, whose queues come and go with its constants
FOLDS = 5
FREE = "the load"  # limit of a prediction that waits for nothing but its own service


class Study:
    """Fits on `scored`, remembering the last linearisation so that refits are cheap."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        self.epochs = [row.engine for row in scored.rows]
        self.alike = [
            "|".join((row.engine, row.system, row.model, row.precision)) for row in scored.rows
        ]
        self.measured = {name: figures(scored.rows, name) for name in ("tpot", "ttft")}
        self.tpot, self.ttft, self.queued, self.best = self._calibrate()

    def _calibrate(self) -> tuple[Linear, Linear, NDArray[np.bool_], Constants]:
        everything = np.ones(len(self.epochs), dtype=bool)
        best = started(TPOT + TTFT)
        for _ in range(PASSES):
            linear = linearised(self.scored, best, TPOT, "tpot")
            found = self._fit(TPOT, linear, "tpot", everything)
            best = applied(best, TPOT, found)
        for _ in range(FIRST_PASSES):
            first = linearised(self.scored, best, TTFT, "ttft")
            queued = np.array([each.limit != FREE for each in self.scored.predict(best)])
            best = applied(best, TTFT, self._fit(TTFT, first, "ttft", ~queued))
        return linear, first, queued, best

    def _fit(
        self, constants: tuple[Constant, ...], linear: Linear, figure: str, use: NDArray[np.bool_]
    ) -> dict[str, Array]:
        return fit(constants, linear, self.measured[figure], self.epochs, self.alike, use)

    def without(self, left: NDArray[np.bool_]) -> Constants:
        """The constants fitted on all rows but `left`."""
        found = self._fit(TPOT, self.tpot, "tpot", ~left)
        waits = self._fit(TTFT, self.ttft, "ttft", ~left & ~self.queued)
        return applied(applied(self.best, TPOT, found), TTFT, waits)

    def left_out(self, group: Callable[[Measurement], str]) -> list[Prediction]:
        """Every row predicted by constants that were fitted without its group."""
        groups = np.array([group(row) for row in self.scored.rows])
        predictions: dict[int, Prediction] = {}
        for name in sorted(set(groups)):
            inside = groups == name
            rows = [self.scored.rows[index] for index in np.flatnonzero(inside)]
            found = self.scored.predict(self.without(inside), rows)
            predictions.update(zip(np.flatnonzero(inside), found, strict=True))
        return [predictions[index] for index in range(len(self.scored.rows))]

    def out_of_fold(self) -> list[Prediction]:
        """Every row predicted by constants fitted on other curves."""
        return self.left_out(lambda row: str(fold(row.curve, FOLDS)))

    @property
    def fold(self) -> NDArray[np.int64]:
        """The fold of every row."""
        return np.array([fold(row.curve, FOLDS) for row in self.scored.rows])


def linearised(
    scored: Scored, at: Constants, constants: tuple[Constant, ...], figure: str
) -> Linear:
    """Predictions of a figure (s) around the constants `at`, and how they move with each."""
    base = _values(scored.predict(at), figure)
    slopes = []
    for constant in constants:
        moved = {
            name: msgspec.structs.replace(
                each, **{constant.name: getattr(each, constant.name) + constant.step}
            )
            for name, each in at.items()
        }
        slopes.append((_values(scored.predict(moved), figure) - base) / constant.step)
    fields = [each.name for each in constants]
    point = np.array([[getattr(at[row.engine], f) for f in fields] for row in scored.rows])
    return Linear(base, np.stack(slopes, axis=1), point)


def _values(predictions: list[Prediction], figure: str) -> Array:
    return np.array([getattr(each, figure) for each in predictions])
