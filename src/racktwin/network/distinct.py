"""Equal rows found by a hash table, in one pass: which come first, and how many of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.network.compiled import compiled
from racktwin.network.problem import Ints

Hashes = npt.NDArray[np.uint64]


def distinct(values: Hashes) -> tuple[Ints, Ints]:
    """Index of the first of each set of equal values, and the size of the set."""
    room = 1 << max(4, int(2 * len(values)).bit_length())
    table = np.full(room, -1, np.int64)
    first, counts = np.empty(len(values), np.int64), np.zeros(len(values), np.int64)
    found = _gather(values, table, first, counts)
    return first[:found].copy(), counts[:found].copy()


@compiled
def _gather(values: Hashes, table: Ints, first: Ints, counts: Ints) -> int:
    """Fill `first` and `counts`; how many sets there are."""
    found = 0
    last = len(table) - 1
    for at in range(len(values)):
        slot = np.int64(values[at] & np.uint64(last))
        while table[slot] >= 0 and values[first[table[slot]]] != values[at]:
            slot = (slot + 1) & last
        if table[slot] < 0:
            table[slot] = found
            first[found] = at
            found += 1
        counts[table[slot]] += 1
    return found
