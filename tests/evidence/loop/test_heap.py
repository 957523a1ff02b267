"""The heap of the loop against sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from racktwin.evidence.loop.compiled import compiled
from racktwin.evidence.loop.heap import pop, push
from racktwin.evidence.loop.requests import Floats, Ints


@compiled
def ordered(given: Floats, keys: Floats, numbers: Ints, out: Ints) -> None:
    """Numbers of `given` by size."""
    for number in range(len(given)):
        push(keys, numbers, number, given[number], number)
    for size in range(len(given), 0, -1):
        out[len(given) - size] = numbers[0]
        pop(keys, numbers, size)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_what_comes_out_is_sorted(values: list[float]) -> None:
    given, count = np.array(values), len(values)
    out = np.zeros(count, np.int64)
    ordered(given, np.zeros(count), np.zeros(count, np.int64), out)
    assert sorted(out) == list(range(count))
    assert list(given[out]) == sorted(values)
