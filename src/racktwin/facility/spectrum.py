"""Swings of a power series by frequency, and its ramps.

Swings are given as root mean square W: a sine of amplitude A has A/sqrt(2), and squares of bands
add up (Parseval's theorem), so nothing depends on how long the series is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.facility.pattern import TICK

Array = NDArray[np.float64]
BANDS = ((0.1, 0.5), (0.5, 2.0), (2.0, 7.0), (7.0, 20.0))  # Hz; turbines answer from about 7


def spectrum(watts: Array) -> tuple[Array, Array]:
    """Frequencies (Hz) and root mean square W at each, of a series about its mean."""
    bins = np.fft.rfft(watts - watts.mean())
    count = len(watts)
    size = np.abs(bins) / count * np.sqrt(2)
    if count % 2 == 0:
        size[-1] /= np.sqrt(2)
    return np.asarray(np.fft.rfftfreq(count, TICK), float), np.asarray(size, float)


def band(watts: Array, low: float, high: float) -> float:
    """Root mean square W of the swings from `low` to `high` Hz (not included)."""
    frequency, size = spectrum(watts)
    inside = (frequency >= low) & (frequency < high)
    return float(np.sqrt((size[inside] ** 2).sum()))


def ramps(watts: Array, over: float) -> tuple[float, float]:
    """Steepest rise and fall, W/s, of the mean power from one window of `over` s to the next."""
    width = max(1, round(over / TICK))
    if len(watts) < 2 * width:
        return 0.0, 0.0
    total = np.concatenate([[0.0], np.cumsum(watts)])
    means = (total[width:] - total[:-width]) / width
    slope = (means[width:] - means[:-width]) / (width * TICK)
    return float(max(slope.max(), 0.0)), float(max(-slope.min(), 0.0))


def widest(watts: Array, over: float) -> float:
    """Largest difference, W, between two moments within `over` s, to a tenth of that time."""
    part = max(1, round(over / 10 / TICK))
    edges = np.arange(0, len(watts), part)
    tops = np.maximum.reduceat(watts, edges)
    bottoms = np.minimum.reduceat(watts, edges)
    size = min(11, len(tops))
    windows = np.lib.stride_tricks.sliding_window_view
    return float((windows(tops, size).max(axis=1) - windows(bottoms, size).min(axis=1)).max())
