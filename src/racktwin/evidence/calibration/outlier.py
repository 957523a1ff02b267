"""Measured values that cannot be what their row says: far from any prediction of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from racktwin.evidence.calibration.study import FREE
from racktwin.evidence.measurement import Figure, Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.finding import Finding

COLUMNS: dict[Figure, str] = {"ttft": "ttft_mean_ms", "tpot": "tpot_mean_ms"}
UNITS = {1e3: "seconds", 1e-3: "microseconds"}  # predicted over measured value -> what it is in
NEAR = 5  # times off a unit that most values may lie
FAR: dict[Figure, float] = {"ttft": 100.0, "tpot": 10.0}  # times off; no published row is farther
MILLI = 1e3


def outliers(rows: Sequence[Measurement], found: Sequence[Prediction]) -> list[Finding]:
    """A column in another unit, or every value of it that is out of reach of its prediction."""
    findings: list[Finding] = []
    for figure, column in COLUMNS.items():
        pairs = [
            (row, getattr(p, figure), getattr(row, figure))
            for row, p in zip(rows, found, strict=True)
            if getattr(row, figure) and (figure == "tpot" or p.limit == FREE)
        ]
        ratios = [predicted / measured for _, predicted, measured in pairs]
        findings += _unit(column, ratios) or [
            Finding(column, _text(measured, predicted), row.line)
            for row, predicted, measured in pairs
            if not 1 / FAR[figure] < measured / predicted < FAR[figure]
        ]
    return findings


def _unit(column: str, ratios: Sequence[float]) -> list[Finding]:
    return [
        Finding(column, f"are these {unit}? Most differ from predictions by 1,000")
        for factor, unit in UNITS.items()
        if ratios and factor / NEAR < median(ratios) < factor * NEAR
    ]


def _text(measured: float, predicted: float) -> str:
    times = max(measured / predicted, predicted / measured)
    more = "more" if measured > predicted else "less"
    said = f"{measured * MILLI:.4g} ms is {times:,.0f} times {more} than predicted"
    return f"{said}, {predicted * MILLI:.4g} ms; the row does not say what ran"
