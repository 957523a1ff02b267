"""How much of a trace's input has been seen before: what an endless prefix cache would hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.ragged import ends
from racktwin.serving.trace import Trace


def cached(trace: Trace) -> NDArray[np.int64]:
    """Input tokens of each request whose whole prefix an earlier request had, tokens.

    Requests are taken in order of arrival, nothing is evicted, and one token is always computed.
    """
    count = len(trace)
    if not trace.block_size or not len(trace.blocks):
        return np.zeros(count, np.int64)
    lengths = trace.prefix.lengths
    owner = np.repeat(np.arange(count), lengths)
    _, first, which = np.unique(trace.blocks, return_index=True, return_inverse=True)
    seen = owner[first][which] < owner
    misses = ends((~seen).astype(np.int64))
    before = misses[trace.starts[:-1]]
    leading = misses[:-1] == np.repeat(before, lengths)  # no miss in the row before this block
    hits = np.bincount(owner[seen & leading], minlength=count)
    return np.minimum(hits * trace.block_size, trace.input - 1)
