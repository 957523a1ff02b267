"""Faults: the grammar, what each leaves, and who is cut off."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.network.bisection import bisection
from racktwin.network.fault import read_faults
from racktwin.network.health import Health
from racktwin.network.topology import Topology

WHOLE = Topology(hardware.cluster("azure-nd-gb300-v6"))
HALF = 4608 / 2 * 1e11  # B/s each way


def health(text: str, topology: Topology = WHOLE) -> Health:
    return Health(topology, read_faults(text, topology))


def rails() -> Topology:
    cluster = hardware.cluster("azure-nd-gb300-v6")
    fabric = msgspec.structs.replace(cluster.fabric, layout="rails")
    return Topology(msgspec.structs.replace(cluster, fabric=fabric))


def test_all_kinds_are_read() -> None:
    text = (
        "spine:3, leaf:leaf7, cable:leaf7/12, plane:7/port12/2, nic:rack3/host2/1, nic:225, "
        "asic:rack1/5, tray:1/asic2"
    )
    with pytest.raises(BadInput, match="expected a tray such as 'tray0', found 'asic2'"):
        read_faults(text, WHOLE)
    found = read_faults(text.replace("asic2", "tray2") + ",slow:0/0/3@50%,flap:1/80@5%,", WHOLE)
    assert [(each.kind, each.place) for each in found] == [
        ("spine", (3,)), ("leaf", (7,)), ("cable", (7, 12)), ("plane", (7, 12, 2)),
        ("nic", (225,)), ("nic", (225,)), ("asic", (1, 5)), ("tray", (1, 2)),
        ("slow", (3,)), ("flap", (1, 80)),
    ]  # fmt: skip
    assert [each.amount for each in found[-2:]] == [0.5, 0.05]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spin:3", "'spin' is not known; did you mean 'spine'"),
        ("spine:36", "spine 36 does not exist; there are spine0 to spine35"),
        ("core:0", "there is no core here"),
        ("plane:leaf7/12", "expected LEAF/PORT/PLANE, found 'leaf7/12'"),
        ("plane:leaf7/12/4", "plane 4 does not exist; there are plane0 to plane3"),
        ("leaf:leav3", "expected a leaf such as 'leaf0'"),
        ("slow:0/0/0", "slow says how much, as in '@50%'"),
        ("slow:0/0/0@200%", "out of range"),
        ("leaf:3@5%", "leaf takes no '@'"),
        ("everything", "is no fault; write it as in 'spine:3'"),
        ("nic:99999999999", "expected a nic such as 'nic0'"),
        ("x" * 100_001, "is longer than"),
    ],
)
def test_what_is_not_there(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_faults(text, WHOLE)


def test_all_findings_come_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        read_faults("spine:99,leaf:64,foo:1", WHOLE)
    assert len(caught.value.findings) == 3


@given(st.text("spineleafcr:/@%0123456789,. -", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_faults(text, WHOLE)
    except BadInput:
        return
    assert 0 <= bisection(Health(WHOLE, found)) <= HALF


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        ("spine:3", 1 - 1 / 36),  # 2 of 72 uplinks of every leaf
        ("leaf:9", 1 - 1 / 64),
        ("cable:leaf7/100", 1 - 1 / 4608),
        ("plane:leaf7/100/2", 1 - 0.25 / 4608),
        ("plane:leaf7/100/2,plane:leaf7/100/3,plane:leaf7/100/2", 1 - 0.5 / 4608),
        ("flap:leaf7/100@10%", 1 - 0.1 / 4608),
        ("nic:0", 1 - 1 / 4608),
    ],
)
def test_bisection_left(text: str, share: float) -> None:
    assert bisection(health(text)) == pytest.approx(HALF * share)


def test_bisection_of_a_tapered_fabric() -> None:
    cluster = hardware.cluster("azure-nd-gb300-v6", racks=8)
    fabric = msgspec.structs.replace(cluster.fabric, oversubscription=2.0)
    topology = Topology(msgspec.structs.replace(cluster, fabric=fabric))
    assert topology.tree.leaves == 6
    assert bisection(Health(topology)) == pytest.approx(6 * 48 * 1e11 / 2)


def test_nvlink_left() -> None:
    """One of 18 ASICs is 5.6 % of every GPU in the rack, a tray 11.1 % (NVIDIA's figures)."""
    left = health("asic:rack1/5,tray:rack2/3,slow:rack4/host0/0@50%").nvlink()
    assert left[72:144] == pytest.approx(17 / 18)
    assert left[144:216] == pytest.approx(16 / 18)
    assert left[288] == 0.5
    assert (left[:72] == 1).all()


def test_ranks_cut_off() -> None:
    cut = health("leaf:9,nic:rack3/host2/1,cable:leaf2/5").cut()
    assert cut[225] == "nic:rack3/host2/1"
    assert cut[2 * 72 + 5] == "cable:leaf2/5"
    assert {gpu for gpu, why in cut.items() if why == "leaf:9"} == set(range(648, 720))
    assert len(cut) == 74


def test_a_domain_of_one_host_is_named_by_its_host() -> None:
    topology = Topology(hardware.cluster("azure-nd-h100-v5"))
    left = health("asic:rack3/host2/1", topology).nvlink()
    first = (3 * 4 + 2) * 8
    assert left[first : first + 8] == pytest.approx(0.75)
    assert np.count_nonzero(left < 1) == 8
    with pytest.raises(BadInput, match="there is no tray here"):
        read_faults("tray:rack3/host2/0", topology)


def test_a_part_full_rack_has_fewer_hosts() -> None:
    topology = Topology(hardware.cluster("azure-nd-gb300-v6", nodes=20))
    assert read_faults("nic:rack1/host1/3", topology)[0].place == (79,)
    for text in ("nic:rack1/host2/0", "slow:rack1/host17/0@50%"):
        with pytest.raises(BadInput, match="the last rack has no such host"):
            read_faults(text, topology)


def test_a_dead_leaf_of_a_rail_cuts_one_rank_in_four() -> None:
    cut = health("leaf:0", rails()).cut()
    assert len(cut) == 72
    assert all(gpu % 4 == 0 and gpu < 288 for gpu in cut)


def test_a_plane_of_ethernet_cuts_nobody_off() -> None:
    topology = Topology(hardware.cluster("hgx-b300-spectrum-x"))
    left = health("leaf:0", topology)
    assert left.cut() == {}
    assert np.count_nonzero(left.nics() == 0) == 64


def test_leaves_without_uplinks_are_islands() -> None:
    """All 36 spines: every rack has a leaf of its own, so nobody reaches another rack."""
    everyone = health(",".join(f"spine:{each}" for each in range(36)))
    assert bisection(everyone) == 0.0
    assert set(everyone.cut()) == set(range(4608))
    assert everyone.cut()[72] == "no uplink of leaf1 is left"
    most = health(",".join(f"spine:{each}" for each in range(35)))
    assert not most.cut()
    one = health(",".join(f"cable:leaf3/{each}" for each in range(72, 144)))
    assert set(one.cut()) == set(range(3 * 72, 4 * 72))


def test_hosts_on_one_leaf_still_reach_one_another() -> None:
    """A rail's leaf without uplinks joins the hosts below it."""
    topology = rails()
    dead = ",".join(f"spine:{each}" for each in range(topology.tree.spines))
    assert not health(dead, topology).cut()
