"""How wide predictions of each kind scatter: the data behind `racktwin.evidence.interval`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from racktwin.evidence.confidence import ENOUGH
from racktwin.evidence.measurement import Figure, Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.hardware import cluster

FILE = Path(__file__).parents[2] / "src" / "racktwin" / "evidence" / "data" / "intervals.yaml"
FIGURES: tuple[Figure, ...] = ("tpot", "ttft", "output_rate")
LEAST = 3  # rows of which quantiles say anything


def ratios(
    rows: list[Measurement], predictions: list[Prediction], figure: Figure
) -> NDArray[np.float64]:
    """Measured over predicted value of every row, 1; NaN where it is missing or doubted."""
    found = []
    for row, prediction in zip(rows, predictions, strict=True):
        value = measured(row, figure)
        found.append(np.nan if value is None else value / getattr(prediction, figure))
    return np.array(found)


def measured(row: Measurement, figure: Figure, doubted: bool = False) -> float | None:
    """A measured figure of a row (s, out tokens/s), None when it is missing or doubted.

    A closed loop's output rate follows from its latencies by Little's law.
    """
    if figure != "output_rate":
        return getattr(row, figure) if doubted or row.trusted(figure) else None
    ttft, tpot = measured(row, "ttft", doubted), measured(row, "tpot", doubted)
    if row.output_rate is not None or ttft is None or tpot is None:
        return row.output_rate
    return row.concurrency * row.traffic.output / (ttft + row.traffic.steps * tpot)


def kinds(
    rows: list[Measurement],
    folded: list[Prediction],
    chips: list[Prediction],
    models: list[Prediction],
) -> Iterator[str]:
    """Lines of the data file: kinds from out-of-fold errors, the unseen from what was left out."""
    known = [traits(row) for row in rows]
    names = [sorted({each[index] for each in known}) for index in range(3)]
    for figure in FIGURES:
        found = ratios(rows, folded, figure)
        for chip, engine, role in product(("", *names[0]), ("", *names[1]), names[2]):
            inside = [_matches(each, (chip, engine, role)) for each in known]
            yield from _line(found[inside], figure=figure, chip=chip, engine=engine, role=role)
        for what, left in (("chip", chips), ("model", models)):
            yield from _line(ratios(rows, left, figure), figure=figure, unseen=what)


def traits(row: Measurement) -> tuple[str, str, str]:
    """Chip, engine and role of a measurement: its kind."""
    role = "aggregated" if row.aggregated else "disaggregated"
    return cluster(row.cluster).chip.name, row.engine.partition("-")[0], role


def _matches(traits: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return all(name in ("", trait) for trait, name in zip(traits, wanted, strict=True))


def _line(values: NDArray[np.float64], **names: str) -> Iterator[str]:
    values = values[np.isfinite(values)]
    if len(values) < LEAST:
        return
    low, high = np.quantile(values, [0.1, 0.9])
    said = ", ".join(f"{key}: {name}" for key, name in names.items() if name)
    yield f"  - {{{said}, low: {low:.3f}, high: {high:.3f}, rows: {len(values)}}}"


def write(lines: list[str], models: list[str], path: Path = FILE) -> None:
    """The data file of `racktwin.evidence.interval`."""
    head = [
        "# Written by tools/accuracy.py: 10th and 90th percentile of measured over predicted,",
        f"# out of fold; kinds of fewer than {ENOUGH} rows are widened by their neighbours.",
        f"models: [{', '.join(models)}]",
        "kinds:",
    ]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
