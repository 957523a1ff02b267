"""The search for the highest load that holds, on a server whose limit is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.saturation import MOST, SHALLOW, search

CLOSE = 1.02


@given(limit=st.floats(0.6, 100), guess=st.floats(0.5, 250))
def test_the_search_ends_just_below_the_limit_wherever_it_begins(
    limit: float, guess: float
) -> None:
    found = search(lambda rate: rate, lambda rate: rate <= limit, guess=guess, top=100, close=CLOSE)
    assert found.highest == found.low
    assert limit / CLOSE <= found.low <= limit < found.high <= CLOSE * found.low
    assert found.next == found.high
    assert len(found.done) <= MOST


def test_where_no_load_holds_there_is_none() -> None:
    found = search(lambda rate: rate, lambda rate: False, guess=10.0, top=100.0, close=CLOSE)
    assert found.highest is None
    assert found.next == found.high == pytest.approx(100 / SHALLOW)


def test_where_every_load_holds_it_ends_too() -> None:
    found = search(lambda rate: rate, lambda rate: True, guess=10.0, top=100.0, close=CLOSE)
    assert found.next is None
    assert len(found.done) == MOST
