"""What the closed loop runs on: rules, hours, sums; arrays that do not grow with time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
LEAST = 1e-4  # s, of a latency that is told from none
FINE = 24.0  # bins for each factor of e: 4 % wide
BINS = 480
LINES = 1440  # points of the time lines, whatever the duration
COLUMNS = 11
FIGURES = 3  # of the serving table that are read between its cells
WAITING = 1e-6  # s of queue that count as none


class Rule(NamedTuple):
    """Constants of a run.

    cap, limit_least, limit_most: W of a GPU; load_most: 1; throttle, inlet: °C; resistance: K/W.
    keep, fresh, noise: of the load's variation, 1; warm, flush: share of the way in a second, 1.
    liquid: share of the heat; pumps: W; rate, most: W/K; chiller: W; approach: K/W; pull: W/K;
    water: J/K. bucket: seconds of a point.
    """

    cap: float
    limit_least: float
    limit_most: float
    load_most: float
    throttle: float
    inlet: float
    resistance: float
    keep: float
    fresh: float
    noise: float
    warm: float
    flush: float
    liquid: float
    pumps: float
    rate: float
    most: float
    chiller: float
    approach: float
    pull: float
    water: float
    bucket: int


class Hours(NamedTuple):
    """At the begin of every hour: load, 1; air that coolers meet, °C."""

    load: Floats
    sink: Floats


class Sums(NamedTuple):
    """tpot, ttft: served load by bin of s, 1; lines: by point sums of the columns below.

    Seconds; W of all racks; W of a GPU; water and supply, °C; hottest junction, °C; load asked and
    served, queue, 1; throttled seconds; most W of all racks.
    """

    tpot: Floats
    ttft: Floats
    lines: Floats


def sums() -> Sums:
    """None yet (1)."""
    return Sums(np.zeros(BINS), np.zeros(BINS), np.zeros((LINES, COLUMNS)))


def bins_of(latency: Floats) -> Ints:
    """The bin of each latency, s."""
    at = np.log(np.maximum(latency, LEAST) / LEAST) * FINE
    return np.minimum(at.astype(np.int64), BINS - 1)


def quantile(bins: Floats, level: float) -> float:
    """The latency, s, that a share `level` (0..1) of `bins` (1) is within; NaN of none."""
    total = bins.sum()
    if not total:
        return float("nan")
    share = np.cumsum(bins) / total
    at = int(np.searchsorted(share, level))
    below = share[at - 1] if at else 0.0
    part = (level - below) / max(share[at] - below, 1e-12)
    return float(LEAST * np.exp((at + part) / FINE))
