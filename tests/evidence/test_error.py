"""Errors of predictions, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from racktwin.evidence.error import errors, fold, quantiles, relative


def test_errors_by_hand() -> None:
    found = errors([11.0, 8.0, 10.0, 15.0], [10.0, 10.0, 10.0, 10.0])
    assert found.count == 4
    assert found.mean == pytest.approx((0.1 + 0.2 + 0.0 + 0.5) / 4)
    assert found.median == pytest.approx(0.15)
    assert found.bias == pytest.approx(0.05)
    assert found.p90 == pytest.approx(0.5 - 0.3 * 0.3)


def test_missing_values_do_not_count() -> None:
    assert errors([math.nan, 1.0, 2.0], [1.0, 0.0, 1.0]).count == 1
    assert errors([], []).count == 0
    assert math.isnan(relative([1.0], [-1.0])[0])


def test_the_log_of_a_ratio_weighs_both_sides_alike() -> None:
    assert errors([20.0], [10.0]).log_p90 == pytest.approx(math.log(2))
    assert errors([5.0], [10.0]).log_p90 == pytest.approx(math.log(2))


def test_quantiles_reach_farther_where_values_are_few() -> None:
    assert quantiles(range(1, 100)) == (10, 90)  # the 10th and 90th of 99: one more makes 100
    assert quantiles(range(1, 20)) == (2, 18)
    assert quantiles([3.0, 1.0, 2.0]) == (1, 3)


def test_eight_of_ten_new_values_lie_between_them() -> None:
    drawn = np.random.default_rng(0).normal(size=(4000, 21))
    ends = np.array([quantiles(row[:20]) for row in drawn])
    inside = (ends[:, 0] <= drawn[:, 20]) & (drawn[:, 20] <= ends[:, 1])
    assert inside.mean() == pytest.approx(17 / 21, abs=0.02)  # the 2nd to the 19th of 20


def test_a_curve_has_a_fold_of_its_own() -> None:
    names = [f"curve {index}" for index in range(1000)]
    dealt = [fold(name, 5) for name in names]
    assert {dealt.count(each) // 50 for each in range(5)} <= {3, 4}
    assert [fold(name, 5) for name in reversed(names)] == dealt[::-1]
