"""Histograms of bins against all their values at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.sparse import Sparse
from racktwin.serving.timeline import Timeline

CLOSE = 0.003  # half of a class
cases = st.lists(st.tuples(st.floats(1e-5, 1e5), st.integers(1, 9)), min_size=1, max_size=50)


def made(rows: list[tuple[float, int]]) -> Sparse:
    values, counts = zip(*rows, strict=True)
    return Sparse.of(np.array(values), np.array(counts, float))


@given(cases, cases, st.sampled_from([0.01, 0.5, 0.99]))
def test_a_level_is_that_of_all_cases(
    one: list[tuple[float, int]], other: list[tuple[float, int]], share: float
) -> None:
    every = np.repeat(*map(np.array, zip(*one, *other, strict=True)))
    found = made(one).with_(made(other))
    assert found.counts.sum() == len(every)
    level = np.quantile(every, share, method="inverted_cdf")
    assert found.level(share) == pytest.approx(level, rel=CLOSE)


def test_nothing_has_no_level() -> None:
    assert math.isnan(Sparse.of(np.zeros(0), np.zeros(0)).level(0.5))
    assert math.isnan(Sparse.of(np.ones(3), np.zeros(3)).level(0.5))


def test_bins_that_merge_keep_all_cases() -> None:
    line = Timeline(1.0, most=8)
    for number in range(17):  # 9 edges become 5, three times
        line.add(np.array([float(number)]), made([(1.0 + number, 2)]))
    assert len(line.gaps) == len(line.times) - 1 == 4
    assert [each.counts.sum() for each in line.gaps] == [16.0, 8.0, 4.0, 4.0]
    assert line.gaps[0].level(1.0) == pytest.approx(9.0, rel=CLOSE)
