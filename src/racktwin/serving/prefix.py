"""How much of a trace's input has been seen before: what an endless prefix cache would hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.ragged import Ragged, ends


def cached(prefix: Ragged, size: int, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Input tokens of each request whose whole prefix an earlier request had.

    prefix: ids of blocks of `size` tokens by request, in order of arrival; tokens: of its input.
    Nothing is evicted, and one token is always computed.
    """
    count = len(tokens)
    if not size or not len(prefix.values):
        return np.zeros(count, np.int64)
    lengths = prefix.lengths
    owner = np.repeat(np.arange(count), lengths)
    _, first, which = np.unique(prefix.values, return_index=True, return_inverse=True)
    seen = owner[first][which] < owner
    misses = ends((~seen).astype(np.int64))
    before = misses[prefix.starts[:-1]]
    leading = misses[:-1] == np.repeat(before, lengths)  # no miss in the row before this block
    hits = np.bincount(owner[seen & leading], minlength=count)
    return np.minimum(hits * size, tokens - 1)
