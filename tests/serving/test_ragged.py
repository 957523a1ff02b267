from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.ragged import Ragged, ends

ROWS = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), min_size=1, max_size=8)


def rows(of: Ragged) -> list[list[int]]:
    return [of.values[a:b].tolist() for a, b in zip(of.starts, of.starts[1:], strict=False)]


def ragged(of: list[list[int]]) -> Ragged:
    return Ragged.of([np.array(row, np.int64) for row in of])


def test_starts_are_running_sums() -> None:
    assert ends(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]


@given(ROWS, st.data())
def test_rows_come_back_in_any_order(given_rows: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(given_rows) - 1), max_size=10))
    taken = ragged(given_rows).take(np.array(order, np.int64))
    assert rows(taken) == [given_rows[index] for index in order]


@given(ROWS, st.data())
def test_parts_join_to_the_whole(given_rows: list[list[int]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(given_rows)))
    whole = ragged(given_rows)
    parts = [whole.part(0, cut), whole.part(cut, len(given_rows))]
    assert rows(Ragged.join(parts)) == given_rows


def test_a_row_may_be_absent() -> None:
    assert rows(Ragged.of([None, np.array([7]), None])) == [[], [7], []]
    assert rows(Ragged.empty(2)) == [[], []]
