from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import Trace

ROWS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=1, max_size=12)


def trace(rows: list[list[int]], size: int = 10) -> Trace:
    prefix = Ragged.of([np.array(row) for row in rows])
    lengths = [len(row) * size for row in rows]
    return Trace.of(range(len(rows)), lengths, [1] * len(rows), prefix=prefix, block_size=size)


def test_hits_by_hand() -> None:
    rows = [[1, 2, 3], [1, 2, 4], [5, 2, 3], [1, 2, 3], [4]]
    # Second: two blocks. Third: its first block is new, so nothing. Fourth: all but one token.
    assert trace(rows).cached.tolist() == [0, 20, 0, 29, 9]


def test_nothing_without_blocks() -> None:
    assert Trace.of([0, 1], [10, 10], [1, 1]).cached.tolist() == [0, 0]


@given(ROWS)
def test_equals_a_plain_loop(rows: list[list[int]]) -> None:
    seen: set[int] = set()
    expected = []
    for row in rows:
        hits = next((n for n, block in enumerate(row) if block not in seen), len(row))
        expected.append(min(hits * 10, len(row) * 10 - 1))
        seen |= set(row)
    assert trace(rows).cached.tolist() == expected
