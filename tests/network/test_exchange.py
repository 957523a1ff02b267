"""Copies of tokens and the time of an exchange, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.network.exchange import Exchange, copies_sent


def test_copies_by_hand() -> None:
    """8 ranks, 8 experts: 8 (1 - (7/8)^8) = 5.25 ranks, 7/8 of them others; balanced 8."""
    assert copies_sent("rank", 8, 8) == pytest.approx(5.251 * 7 / 8, rel=1e-3)
    assert copies_sent("rank", 8, 8, balanced=True) == 7
    assert copies_sent("expert", 8, 8) == 7
    assert copies_sent("rank", 1, 8) == copies_sent("expert", 1, 8) == 0


def test_uniform_routing_by_drawing() -> None:
    draw = np.random.default_rng(1).integers(0, 16, (40_000, 6))
    others = [len({*row} - {0}) for row in draw.tolist()]
    assert copies_sent("rank", 16, 6) == pytest.approx(np.mean(others), rel=0.01)


@given(st.integers(1, 5000), st.integers(1, 22))
def test_fewer_copies_where_ranks_share_them(ranks: int, top_k: int) -> None:
    shared = copies_sent("rank", ranks, top_k)
    spread = copies_sent("rank", ranks, top_k, balanced=True)
    assert 0 <= shared <= spread * (1 + 1e-12) <= copies_sent("expert", ranks, top_k) * (1 + 2e-12)


def test_time_by_hand() -> None:
    """100 tokens x (10 ns + 2 copies x (20 ns + 1000 B / 1e11 B/s)) = 7 us, behind 3 us."""
    exchange = Exchange(
        alpha=3e-6, per_token=1e-8, per_copy=2e-8, bandwidth=1e11, power=1.0, ranks=4
    )
    assert exchange.seconds(100, 2.0, 1000, 4, 0) == pytest.approx(10e-6)
    assert exchange.seconds([0, 200], 2.0, 1000, 4, 0) == pytest.approx([3e-6, 17e-6])


def test_growth_over_ranks_and_experts() -> None:
    exchange = Exchange(
        alpha=1e-5,
        per_token=0.0,
        per_copy=0.0,
        bandwidth=1e9,
        power=1.0,
        ranks=4,
        per_doubling=0.1,
        per_expert=0.5,
        fan_loss=0.1,
    )
    assert exchange.seconds(0, 1.0, 1000, 64, 256) == pytest.approx(1e-5 * 1.4 * 2.0)
    more = exchange.seconds(1e6, 1.0, 1000, 16, 0) - exchange.seconds(0, 1.0, 1000, 16, 0)
    assert more == pytest.approx(1.0 * 1.2)
    assert exchange.seconds(1e6, 1.0, 1000, 2, 0) == pytest.approx(1.00001)
