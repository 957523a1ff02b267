"""What faults and routing leave of a collective's links: shares by hand, ranks cut off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.network.fabrics import small

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.hardware import Cluster
from racktwin.network.fault import read_faults
from racktwin.network.left import Left, left
from racktwin.network.topology import Topology


@pytest.fixture(scope="module")
def whole() -> Cluster:
    return hardware.cluster("azure-nd-gb300-v6")


def rest(cluster: Cluster, operation: str, text: str, ranks: int = 4608, **more: str) -> Left:
    faults = read_faults(text, Topology(cluster))
    return left(operation, np.arange(ranks), cluster, faults=faults, **more)  # type: ignore[arg-type]


def test_nothing_broken_leaves_everything(whole: Cluster) -> None:
    assert rest(whole, "all_reduce", "") == rest(whole, "all_to_all", "") == Left(1.0, 1.0)


@pytest.mark.parametrize("operation", ["all_reduce", "all_to_all"])
def test_a_spine_of_36(whole: Cluster, operation: str) -> None:
    """Two of the 72 cables of every leaf are gone: 35/36 of what leaves a rack."""
    assert rest(whole, operation, "spine:3").nic == pytest.approx(35 / 36)
    assert rest(whole, operation, "spine:3,spine:9").nic == pytest.approx(34 / 36)


def test_a_switch_chip_and_a_tray(whole: Cluster) -> None:
    assert rest(whole, "all_reduce", "asic:rack0/3") == Left(pytest.approx(17 / 18), 1.0)
    assert rest(whole, "all_reduce", "tray:rack0/3") == Left(pytest.approx(16 / 18), 1.0)
    assert rest(whole, "all_reduce", "asic:rack5/3", ranks=72).nvlink == 1.0  # not their rack


def test_a_plane_and_a_slow_gpu(whole: Cluster) -> None:
    """A NIC at 3/4, or a GPU at half, hold everyone up; its rack has 71 others to help it."""
    plane = rest(whole, "all_to_all", "plane:leaf0/12/2")
    assert (plane.nic, plane.domain) == (0.75, pytest.approx((71 + 0.75) / 72))
    slow = rest(whole, "all_reduce", "slow:rack0/host3/1@50%")
    assert slow == Left(0.5, 0.5, pytest.approx((71 + 0.5) / 72), 0.5)
    apart = np.arange(8) * 72  # one rank of each rack has nobody to help it
    faults = read_faults("plane:leaf0/0/2", Topology(whole))
    assert left("all_to_all", apart, whole, faults=faults) == Left(1.0, 0.75, 0.75, 0.75)


@pytest.mark.parametrize("operation", ["all_reduce", "all_to_all"])
def test_half_of_the_uplinks(operation: str) -> None:
    """2:1 at the leaf: what leaves a leaf has half of its NICs' rate; NVLink is untouched."""
    half = small("azure-nd-gb300-v6", 36, {"oversubscription": 2.0}, 48)
    found = rest(half, operation, "", ranks=144)
    assert (found.nic, found.port) == (pytest.approx(0.5, rel=0.01), 1.0)


def test_ranks_that_are_cut_off_are_named(whole: Cluster) -> None:
    with pytest.raises(BadInput, match=r"cuts rank 1 \(rack0/host0/1, nic:rack0/host0/1\) off"):
        rest(whole, "all_reduce", "nic:rack0/host0/1")
    with pytest.raises(BadInput, match=r"rank.* 3 .*leaf:0\) and 68 more off"):
        rest(whole, "all_reduce", "leaf:0")
    assert rest(whole, "all_reduce", "leaf:0", ranks=72) == Left(1.0, 1.0)  # NVLink alone


def test_hashed_flows_meet(whole: Cluster) -> None:
    static = rest(whole, "all_reduce", "", routing="static")
    spray = rest(whole, "all_reduce", "", routing="spray")
    assert static.nvlink == spray.nvlink == 1.0
    assert 0.15 < static.nic < 0.6
    assert spray.nic == pytest.approx(1.0)


@given(st.sets(st.integers(0, 35), max_size=8), st.sampled_from(["all_reduce", "all_to_all"]))
def test_more_faults_leave_less(whole: Cluster, spines: set[int], operation: str) -> None:
    found = sorted(spines)
    few = rest(whole, operation, ",".join(f"spine:{each}" for each in found[:-1]))
    many = rest(whole, operation, ",".join(f"spine:{each}" for each in found))
    assert 0 < many.nic <= few.nic <= 1
