"""What a user's measurements make of an engine epoch, and how sure predictions are then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist, median

import msgspec
import numpy as np

from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch
from racktwin.evidence.calibration.fit import OWN, TTFT, Array, Constant
from racktwin.evidence.calibration.outlier import outliers
from racktwin.evidence.calibration.own import CURVES, Own
from racktwin.evidence.calibration.points import Points, read, shortened
from racktwin.evidence.confidence import Interval, Role, interval
from racktwin.evidence.error import Errors, errors
from racktwin.evidence.measurement import Figure, Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.finding import BadInput, Finding
from racktwin.hardware import cluster

FIGURES: tuple[Figure, ...] = ("tpot", "ttft", "output_rate")
TENTH = NormalDist().inv_cdf(0.9)  # standard deviations to the 90th percentile
PRIOR = 2  # points that the spread of the shipped epoch counts as


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: errors of the shipped epoch, of the fitted one, and of points left out of it.

    low, high: 80 % interval of measured over predicted value, 1; was: half the shipped one, 1.
    """

    figure: Figure
    before: Errors
    after: Errors
    left_out: Errors
    low: float
    high: float
    was: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """An epoch fitted to points. base: the shipped one it started from; held: what was left out.

    chips, models, roles: what the points are of.
    """

    base: Epoch
    epoch: Epoch
    points: Points
    scatter: tuple[Scatter, ...]
    held: str
    chips: tuple[str, ...]
    models: tuple[str, ...]
    roles: tuple[Role, ...]

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that were fitted."""
        return OWN + TTFT


def calibrate(path: str | Path, name: str) -> Calibration:
    """The epoch `name` that the points of a file lead to; BadInput with all that is wrong."""
    points = read(path)
    base = epoch(points.base)
    own = Own(points.rows, base)
    findings = [
        Finding("row", f"cannot be priced: {why.splitlines()[-1].strip()}", row.line)
        for row, why in own.unpriced
    ]
    before = own.predict(base)
    findings += outliers(own.rows, before)
    if findings:
        raise BadInput(shortened(findings), points.file)
    fitted = own.fit()
    after, left = own.predict(fitted), own.left_out()
    curves = len(set(own.curves))
    return Calibration(
        base=base,
        epoch=msgspec.structs.replace(fitted, name=name),
        points=points,
        scatter=tuple(_scatter(each, own.rows, before, after, left) for each in FIGURES),
        held=f"{curves} curves, one at a time" if curves >= CURVES else "one row at a time",
        chips=tuple(sorted({_chip(row) for row in own.rows})),
        models=tuple(sorted({row.model for row in own.rows})),
        roles=tuple(sorted({_role(row) for row in own.rows})),
    )


def _scatter(
    figure: Figure,
    rows: Sequence[Measurement],
    before: Sequence[Prediction],
    after: Sequence[Prediction],
    left: Sequence[Prediction],
) -> Scatter:
    measured = np.array([_measured(row, figure) for row in rows])
    found = [np.array([getattr(p, figure) for p in each]) for each in (before, after, left)]
    shipped = [
        interval(figure, chip=_chip(row), engine=_engine(row), role=_role(row), model=row.model)
        for row in rows
    ]
    low, high = band(measured / found[2], shipped)
    return Scatter(
        figure=figure,
        before=errors(found[0], measured),
        after=errors(found[1], measured),
        left_out=errors(found[2], measured),
        low=low,
        high=high,
        was=median(each.high - each.low for each in shipped) / 2,
    )


def band(ratios: Array, shipped: Sequence[Interval]) -> tuple[float, float]:
    """An 80 % interval of `ratios`, measured over predicted where left out of the fit, 1.

    A normal law of their logarithms around 0, where `PRIOR` points have the shipped spread: few
    points are surer than that only by what they show.
    """
    logs = np.log(ratios[np.isfinite(ratios)])
    spread = median(math.log(each.high / each.low) for each in shipped) / 2 / TENTH
    square = (PRIOR * spread**2 + float((logs**2).sum())) / (PRIOR + len(logs))
    reach = TENTH * math.sqrt(square)
    return math.exp(-reach), math.exp(reach)


def _measured(row: Measurement, figure: Figure) -> float:
    """A measured figure (s, out tokens/s), NaN when it is missing; a rate by Little's law."""
    values = [math.nan if value is None else value for value in (row.ttft, row.tpot)]
    if figure == "output_rate":
        return row.concurrency * row.traffic.output / (values[0] + row.traffic.steps * values[1])
    return values[FIGURES.index(figure) == 0]


def _chip(row: Measurement) -> str:
    return cluster(row.cluster).chip.name


def _engine(row: Measurement) -> str:
    return row.engine.partition("-")[0]


def _role(row: Measurement) -> Role:
    return "aggregated" if row.aggregated else "disaggregated"
