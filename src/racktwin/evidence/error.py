"""How far predictions lie from measurements."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import ArrayLike


class Errors(msgspec.Struct, frozen=True):
    """Relative errors of a set of predictions, each a fraction of the measured value.

    count: rows scored; mean, median, p90: of the absolute errors; bias: median signed error.
    """

    count: int
    mean: float
    median: float
    p90: float
    bias: float


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


def folds(curves: Iterable[str], count: int) -> dict[str, int]:
    """Fold (0 to count-1) of every curve: curves of one name never part, folds are even in size.

    Deterministic: curves in order of their names are dealt out like cards.
    """
    return {name: index % count for index, name in enumerate(sorted(set(curves)))}
