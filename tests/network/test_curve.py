"""Curves and rules against hand values and their own laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.network.curve import Curve, Rule, smooth_sum

CURVE = Curve(upto=(1e4, 1e6), alpha=(5e-6, 8e-6, 0.0), bandwidth=(1e10, 1e11, 5e11), largest=1e9)


def test_each_piece_is_alpha_and_bytes_over_bandwidth() -> None:
    assert CURVE.seconds([0.0, 1e3, 1e5, 1e8]) == pytest.approx([5e-6, 5.1e-6, 9e-6, 2e-4])


def test_a_faster_protocol_does_not_make_a_larger_message_faster() -> None:
    """At 1e6 bytes the second piece takes 18 us; the third would take 2 us."""
    assert CURVE.seconds([1e6, 1.1e6, 1e7]) == pytest.approx([18e-6, 18e-6, 20e-6])


@given(st.lists(st.floats(0, 1e10), min_size=2, max_size=20))
def test_curves_are_monotone(sizes: list[float]) -> None:
    assert np.all(np.diff(CURVE.seconds(sorted(sizes))) >= 0)


def test_curves_keep_the_shape_of_their_argument() -> None:
    assert CURVE.seconds(np.ones((3, 2))).shape == (3, 2)
    assert CURVE.seconds(1.0).shape == ()


RULE = Rule(alpha=7e-6, per_rank=2e-6, bandwidth=8e11, pair_loss=0.5, ramp=4e-6, in_switch=5e11)


def test_a_rule_by_hand() -> None:
    """Two ranks: ring at 8e11 (1 - 0.5/4) = 7e11 B/s; 7e8 bytes, share 1: 1 ms on the wire."""
    ramp = 2 * np.sqrt(4e-6 * 1e-3)
    assert RULE.seconds("all_reduce", 7e8, 2) == pytest.approx(9e-6 + 1e-3 + ramp)


def test_the_switch_reduces_where_it_is_faster() -> None:
    """At 16 ranks: ring 1.875 / 7.98e11 = 2.35e-12 s/B, switch 1.0625 / 5e11 = 2.13e-12 s/B."""
    large = 1e12
    assert RULE.seconds("all_reduce", large, 16) == pytest.approx(large * 2.125e-12, rel=5e-3)
    assert RULE.seconds("all_reduce", large, 2) == pytest.approx(large / 7e11, rel=5e-3)


def test_smooth_sum_adds_at_one_and_picks_the_larger_at_infinity() -> None:
    assert smooth_sum(3.0, 4.0, 1.0) == pytest.approx(7.0)
    assert smooth_sum(3.0, 4.0, 2.0) == pytest.approx(5.0)
    assert smooth_sum(3.0, 4.0, 300.0) == pytest.approx(4.0)
    assert smooth_sum(0.0, 0.0, 0.5) == 0.0
