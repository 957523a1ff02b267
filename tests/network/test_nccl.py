"""NCCL's tuning model: channels NCCL is known to lay, times by hand, choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.network import nccl
from racktwin.network.algorithm import ALL
from racktwin.network.channels import Channels, group, search, split
from racktwin.network.tuner import tuner
from racktwin.network.volume import OPERATIONS
from racktwin.network.way import Way

HOPPER, RACK = "azure-nd-h100-v5", "azure-nd-gb300-v6"


def paths(name: str, ranks: int, operation: str = "all_reduce", sharp: bool = False):
    cluster = hardware.cluster(name)
    seen = group(cluster.place(ranks), cluster, Way(sharp=sharp))
    return seen, {(each.algorithm, each.protocol): each for each in nccl.paths(operation, seen)}


@pytest.mark.parametrize(
    ("name", "ranks", "count", "speed"),
    [
        (HOPPER, 16, 8, 45e9),  # "nChannels 8, bw 45.000000" in logs of two 8 x H100 nodes
        (HOPPER, 8, 12, 30e9),
        (RACK, 72, 16, 45e9),
        (RACK, 144, 18, 40e9),
    ],
)
def test_channels(name: str, ranks: int, count: int, speed: float) -> None:
    cluster = hardware.cluster(name)
    assert group(cluster.place(ranks), cluster).channels == Channels(count, speed)


@given(st.floats(1e9, 2e12), st.floats(1e8, 2e11), st.integers(1, 72))
def test_channels_never_carry_more_than_the_links(total: float, nic: float, most: int) -> None:
    speeds = tuner().generations["blackwell"].speeds_between
    found = split(search(total, speeds, nic, most))
    assert found.total <= total * (1 + 1e-9)
    assert 1 <= found.count <= tuner().most_channels


def test_rings_by_hand() -> None:
    """8 H100, 14 steps. LL: 6.6 + 14 x 0.6 us; Simple: 8.4 + 14 x 3.4 us and 360 GB/s busbw."""
    seen, found = paths(HOPPER, 8)
    slow = found["ring", "Simple"]
    assert found["ring", "LL"].latency == pytest.approx(15.0e-6)
    assert slow.latency == pytest.approx(56.0e-6)
    assert slow.bandwidth == pytest.approx(360e9 * 8 / 14)
    time = slow.seconds("all_reduce", 1e9, seen)
    assert time == pytest.approx(56e-6 + 1e9 / (360e9 * 8 / 14))


def test_rings_over_nodes_by_hand() -> None:
    """4 nodes of 8: 6 of 62 steps cross at 14 us, 56 wait for 3 x 1 us of posting or 3.4 us."""
    seen, found = paths(HOPPER, 32)
    latency = 8.4 + 56 * 3.4 + 6 * 14
    assert found["ring", "Simple"].latency == pytest.approx(latency * 1e-6)
    small = found["ring", "Simple"].seconds("all_reduce", 64 * 8 * 32 - 1, seen)
    large = found["ring", "Simple"].seconds("all_reduce", 64 * 8 * 32, seen)
    assert large - small == pytest.approx(0.4 * latency * 1e-6, rel=1e-3)


def test_trees_by_hand() -> None:
    """64 racks of 72: 2 x (71 x 1.25 + 6 x 8.5) + 14 us; at 1 GB the table has no correction."""
    seen, found = paths(RACK, 4608)
    tree = found["tree", "LL128"]
    assert tree.latency == pytest.approx((14 + 2 * (71 * 1.25 + 6 * 8.5)) * 1e-6)
    most = min(min(720 * 0.92, 18 * 24) * 0.9375, 18 * 20) / 2
    assert tree.bandwidth == pytest.approx(most * 1e9)
    assert tree.seconds("all_reduce", 2.0**31, seen) == pytest.approx(
        tree.latency + 2.0**31 / (most * 1e9)
    )
    assert tree.seconds("all_reduce", 64 * 2**12, seen) == pytest.approx(
        tree.latency + 2.0**18 / (0.6 * most * 1e9)
    )


def test_the_reducing_switch_by_hand() -> None:
    """72 GPUs: 25 us, 721.8 GB/s x 0.74 x 23/24 x 2 of bus bandwidth, x 72/142."""
    _, found = paths(RACK, 72)
    assert found["nvls", "Simple"].latency == pytest.approx(25e-6)
    bus = 18 * 40.1e9 * 0.74 * 23 / 24 * 2
    assert found["nvls", "Simple"].bandwidth == pytest.approx(bus * 72 / 142)


def test_small_messages_take_rings_or_trees_and_large_ones_the_switch() -> None:
    seen, _ = paths(HOPPER, 8)
    found = nccl.paths("all_reduce", seen)
    small, large = nccl.chosen("all_reduce", [1024, 1e9], found, seen)
    assert (found[small].algorithm, found[small].protocol) == ("ring", "LL")
    assert found[large].algorithm == "nvls"


def test_who_can_run_what() -> None:
    seen, found = paths(RACK, 144)
    assert {name for name, _ in found} == {"ring", "tree", "nvls_tree"}
    assert "SHARP" in ALL["collnet_direct"].refuses("all_reduce", seen)
    assert "two GPUs" not in ALL["nvls_tree"].refuses("all_reduce", seen)
    assert "all-reduce only" in ALL["tree"].refuses("all_gather", seen)
    _, sharp = paths(RACK, 144, sharp=True)
    assert {"nvls", "collnet_direct", "collnet_chain"} <= {name for name, _ in sharp}
    cluster = hardware.cluster(RACK)
    spread = group(cluster.place(8, 72), cluster)
    assert not ALL["pat"].refuses("all_gather", spread)
    assert ALL["nvls"].refuses("all_reduce", spread)


@given(
    st.sampled_from([name for name in OPERATIONS if name != "all_to_all"]),
    st.sampled_from([HOPPER, RACK, "hgx-b200"]),
    st.integers(2, 3000),
    st.booleans(),
)
def test_every_path_is_finite_and_grows(operation: str, name: str, ranks: int, sharp: bool) -> None:
    seen, found = paths(name, min(ranks, hardware.cluster(name).gpus), operation, sharp)
    assert ("ring", "Simple") in found
    sizes = np.array([1e3, 1e6, 1e9, 1e11])
    for each in found.values():
        time = each.seconds(operation, sizes, seen)
        assert np.all(np.isfinite(time))
        assert time[-1] > time[0] > 0
