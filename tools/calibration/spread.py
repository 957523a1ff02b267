"""How wide predictions of each kind scatter: the data behind `racktwin.evidence.interval`."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from racktwin.evidence.calibration.study import FREE
from racktwin.evidence.confidence import ENOUGH, FOLD_KINDS, NAMES, QUEUED, WIDER, Kind
from racktwin.evidence.data import HERE
from racktwin.evidence.error import quantiles
from racktwin.evidence.measurement import Figure, Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.hardware import cluster

FILE, FOLD_FILE = HERE / "intervals.yaml", HERE / FOLD_KINDS
FIGURES: tuple[Figure, ...] = ("tpot", "ttft", "output_rate")
Record = dict[str, str]


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
    use: NDArray[np.bool_],
) -> Iterator[Record]:
    """Kinds from out-of-fold errors of the rows in `use`, the unseen from what was left out."""
    known = [traits(row) for row in rows]
    queued = np.array([each.limit != FREE for each in folded])
    for figure in FIGURES:
        found = np.where(use, ratios(rows, folded, figure), np.nan)
        for kept in reversed(WIDER):
            groups = [tuple(n if k in kept else "" for k, n in zip(NAMES, each, strict=True))
                      for each in known]  # fmt: skip
            for names in sorted(set(groups)):
                inside = np.array([group == names for group in groups])
                for regime, part in (("", inside & ~queued), (QUEUED, inside & queued)):
                    said = dict(zip(NAMES, names, strict=True)) | {"regime": regime}
                    yield from _record(found[part], figure=figure, **said)
        for what, left in (("chip", chips), ("model", models)):
            values = np.where(use & ~queued, ratios(rows, left, figure), np.nan)
            yield from _record(values, figure=figure, unseen=what)


def traits(row: Measurement) -> tuple[str, str, str, str]:
    """Chip, engine, role and model of a measurement: its kind, in the order of `NAMES`."""
    role = "aggregated" if row.aggregated else "disaggregated"
    return cluster(row.cluster).chip.name, row.engine.partition("-")[0], role, row.model


def _record(values: NDArray[np.float64], **names: str) -> Iterator[Record]:
    values = values[np.isfinite(values)]
    if len(values) < ENOUGH:
        return
    low, high = quantiles(values)
    said = {key: name for key, name in names.items() if name}
    yield {**said, "low": f"{low:.3f}", "high": f"{high:.3f}", "rows": f"{len(values)}"}


def write(records: list[Record], models: list[str], path: Path = FILE) -> None:
    """The data file of `racktwin.evidence.interval`."""
    head = [
        "# Written by tools/accuracy.py: 80 % of measured over predicted, out of fold,",
        f"# of kinds of {ENOUGH} rows or more.",
        f"models: [{', '.join(models)}]",
        "kinds:",
    ]
    lines = [
        f"  - {{{', '.join(f'{key}: {value}' for key, value in record.items())}}}"
        for record in records
    ]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


def write_folds(folds: list[list[Record]], path: Path = FOLD_FILE) -> None:
    """The same without the rows of each fold."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ("fold", *Kind.__struct_fields__), lineterminator="\n")
    writer.writeheader()
    for fold, records in enumerate(folds):
        writer.writerows({"fold": fold, **record} for record in records)
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
