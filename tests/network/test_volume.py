"""Bytes on a link: hand values, and conservation between operations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.network.volume import OPERATIONS, least_share, switch_share, wire_share


def test_shares_of_eight_ranks() -> None:
    assert wire_share("all_reduce", 8) == 1.75
    assert wire_share("all_gather", 8) == wire_share("reduce_scatter", 8) == 0.875
    assert wire_share("all_to_all", 8) == 0.875
    assert switch_share(8) == 1.125
    assert least_share("all_reduce", 8) == 1.0
    assert least_share("all_gather", 8) == 0.875


@given(st.integers(1, 10_000))
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(ranks: int) -> None:
    halves = wire_share("reduce_scatter", ranks) + wire_share("all_gather", ranks)
    assert wire_share("all_reduce", ranks) == pytest.approx(halves)


@given(st.integers(2, 10_000), st.sampled_from(OPERATIONS))
def test_no_algorithm_sends_less_than_the_least(ranks: int, operation: str) -> None:
    assert least_share(operation, ranks) <= wire_share(operation, ranks)
    assert least_share("all_reduce", ranks) <= switch_share(ranks)


def test_one_rank_sends_nothing() -> None:
    assert {wire_share(each, 1) for each in OPERATIONS if each != "broadcast"} == {0}
    assert {least_share(each, 1) for each in OPERATIONS} == {0}


def test_bus_bandwidth_of_switch_reduction_grows_with_ranks_as_printed() -> None:
    """5 to 8 H100 print 420, 440, 460, 480 GB/s: one link rate explains all four (nccl#1455)."""
    printed = {5: 420, 6: 440, 7: 460, 8: 480}
    link = 480 / (wire_share("all_reduce", 8) / switch_share(8))
    for ranks, bus in printed.items():
        model = link * wire_share("all_reduce", ranks) / switch_share(ranks)
        assert model == pytest.approx(bus, rel=0.025)
