"""The Pareto front of two figures that should both be high."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def front(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Indices of the points that no other beats in both figures, by falling `first`.

    first, second: figures of any unit, one entry per point; higher is better.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    order = np.lexsort((-two, -one))
    best = np.maximum.accumulate(two[order])
    better = two[order][1:] > best[:-1]
    keep = np.concatenate([np.ones(min(1, len(order)), dtype=bool), better])
    return np.asarray(order[keep], dtype=np.int64)
