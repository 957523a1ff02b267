"""How far predictions lie from measurements."""

from __future__ import annotations

from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import ArrayLike


class Errors(msgspec.Struct, frozen=True):
    """Relative errors of a set of predictions, each a fraction of the measured value.

    count: rows scored; mean, median, p90: of the absolute errors; bias: median signed error.
    log_p90: 90th percentile of |ln predicted / measured|, 1.
    """

    count: int
    mean: float
    median: float
    p90: float
    bias: float
    log_p90: float = np.nan


def errors(predicted: ArrayLike, measured: ArrayLike) -> Errors:
    """Errors of `predicted` against `measured` (any unit); pairs without both are left out."""
    signed = relative(predicted, measured)
    signed = signed[np.isfinite(signed)]
    if not signed.size:
        return Errors(0, np.nan, np.nan, np.nan, np.nan)
    off = np.abs(signed)
    return Errors(
        count=int(signed.size),
        mean=float(off.mean()),
        median=float(np.median(off)),
        p90=float(np.quantile(off, 0.9)),
        bias=float(np.median(signed)),
        log_p90=float(np.quantile(np.abs(np.log1p(signed)), 0.9)),
    )


def relative(
    predicted: ArrayLike, measured: ArrayLike
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Signed relative errors, 1; NaN where a value is missing or not positive.

    predicted, measured: values in any unit.
    """
    one = np.atleast_1d(np.asarray(predicted, dtype=float))
    other = np.atleast_1d(np.asarray(measured, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((other > 0) & (one > 0), one / other - 1, np.nan)


def quantiles(values: ArrayLike) -> tuple[float, float]:
    """Ends that hold 80 % of further values like these (any unit), however few there are.

    The 10th and the 90th of a hundred such values and one more: order statistics, so that few
    values reach farther.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    low, high = (count + 1) // 10, -(-9 * (count + 1) // 10)
    return float(ordered[max(low, 1) - 1]), float(ordered[min(high, count) - 1])


def fold(curve: str, count: int) -> int:
    """Fold (0 to count-1) of a curve: that of its name, whatever other curves there are."""
    return crc32(curve.encode()) % count
