"""Errors of predictions, by hand."""

from __future__ import annotations

import math

import pytest

from racktwin.evidence.error import errors, folds, relative


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


def test_folds_keep_curves_whole_and_even() -> None:
    dealt = folds([f"curve {index}" for index in range(23)] * 3, 5)
    assert len(dealt) == 23
    sizes = [list(dealt.values()).count(fold) for fold in range(5)]
    assert max(sizes) - min(sizes) <= 1
