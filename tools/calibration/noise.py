"""How far published measurements lie from one another where no prediction could tell them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from calibration.spread import FIGURES, measured
from racktwin.evidence.error import Errors, errors
from racktwin.evidence.measurement import Figure, Measurement

NAMES = {"tpot": "TPOT", "ttft": "TTFT", "output_rate": "out tok/s/GPU"}
COPY = 1e-3  # relative difference of both times below which a row repeats another, not its run
SPREAD = 1.5**0.5  # of a value off the middle of its neighbours, over its own, all independent
NOTE = """The floor below the errors above. *Repeated runs*: rows of one configuration (all columns but id,
date and image) against their geometric mean, the best a single prediction could be; rows whose times
agree to 0.1 % are copies and count once. *Along a curve*: a row against the middle of those at half
and at twice its load (logarithms, over the square root of 1.5): what no law smooth in the load can
follow, bends of the curve included. What lies between two campaigns on one configuration is in
neither.
"""  # noqa: E501
HEAD = "| | figure | rows | mean | median | p90 |"
Value = tuple[Measurement, float]


def table(rows: Sequence[Measurement]) -> list[str]:
    """The section of the page: all engines, then each."""
    engines = sorted({_engine(row) for row in rows})
    lines = ["## Noise of the measurements", "", NOTE, HEAD, "|---|---|---:|---:|---:|---:|"]
    for name in ("", *engines):
        part = [row for row in rows if not name or _engine(row) == name]
        for figure in FIGURES:
            values = [(row, value) for row in part if (value := measured(row, figure))]
            lines += _line(f"repeated runs, {name or 'all'}", figure, repeats(values))
        for figure in FIGURES[:2]:
            values = [(row, value) for row in part if (value := measured(row, figure))]
            lines += _line(f"along a curve, {name or 'all'}", figure, bends(values))
    return lines


def _engine(row: Measurement) -> str:
    return row.engine.partition("-")[0]


def _line(title: str, figure: Figure, found: Errors) -> Iterator[str]:
    if found.count:
        shares = " | ".join(f"{100 * x:.1f} %" for x in (found.mean, found.median, found.p90))
        yield f"| {title} | {NAMES[figure]} | {found.count} | {shares} |"


def repeats(values: Sequence[Value]) -> Errors:
    """The geometric mean of every configuration that ran more than once, against its runs.

    values: in any unit.
    """
    runs: dict[tuple[object, ...], list[Value]] = defaultdict(list)
    for row, value in values:
        same = runs[row.curve, row.kv, row.traffic, row.concurrency, row.pools]
        if not any(_copy(row, other) for other, _ in same):
            same.append((row, value))
    several = [[value for _, value in same] for same in runs.values() if len(same) > 1]
    means = [float(np.exp(np.mean(np.log(same)))) for same in several for _ in same]
    return errors(means, [value for same in several for value in same])


def _copy(row: Measurement, other: Measurement) -> bool:
    pairs = ((row.tpot, other.tpot), (row.ttft, other.ttft))
    return all(one and two and abs(one / two - 1) < COPY for one, two in pairs)


def bends(values: Sequence[Value]) -> Errors:
    """The middle of a row's neighbours at half and twice its load, against the row.

    values: in any unit; of several runs, their geometric mean.
    """
    curves: dict[tuple[object, ...], dict[float, list[float]]] = defaultdict(dict)
    for row, value in values:
        along = curves[row.curve, row.kv]
        along.setdefault(row.concurrency, []).append(float(np.log(value)))
    off = []
    for along in curves.values():
        for load, logs in along.items():
            if load / 2 in along and load * 2 in along:
                middle = (np.mean(along[load / 2]) + np.mean(along[load * 2])) / 2
                off.append(float(middle - np.mean(logs)) / SPREAD)
    return errors(np.exp(off), np.ones(len(off)))
