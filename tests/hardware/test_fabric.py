"""The fat tree: NVIDIA's own tables, what a Clos network must satisfy, and what does not add up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.hardware import Fabric, Switch
from racktwin.hardware.tree import split
from racktwin.units import Bandwidth, Watts

SWITCH = Switch(title="Q3400", ports=144, rate=Bandwidth(1e11), power=Watts(3250.0))
TREE = Fabric(switch=SWITCH)


@pytest.mark.parametrize(
    ("gpus", "leaves", "spines"),
    [(576, 8, 4), (1152, 16, 8), (2304, 32, 18), (4608, 64, 36), (10368, 144, 72)],
)
def test_switch_counts_of_the_superpod_table(gpus: int, leaves: int, spines: int) -> None:
    tree = TREE.tree(gpus, 1)
    assert (tree.leaves, tree.spines, tree.tiers) == (leaves, spines, 2)
    assert tree.trunks == (leaves * 72, 0)


def test_rails_are_networks_of_their_own() -> None:
    """Per rail 16 leaves and 8 spines, 9 cables a pair, for 4,608 GPUs of 4 NICs a host."""
    rails = Fabric(switch=SWITCH, layout="rails")
    tree = rails.tree(1152, 4)
    assert (rails.networks(4), tree.leaves, tree.spines, tree.links) == (4, 16, 8, 9)


def test_planes_of_the_ethernet_table() -> None:
    """NVIDIA's DGX SuperPOD B300 with Spectrum-X: 4,096 GPUs, 128 leaf, 64 spine, 2 planes."""
    cluster = hardware.cluster("hgx-b300-spectrum-x", nodes=512)
    tree, planes = cluster.tree, cluster.networks
    assert (planes * tree.leaves, planes * tree.spines, planes) == (128, 64, 2)


def test_one_switch_is_enough_for_few_ports() -> None:
    tree = TREE.tree(144, 1)
    assert (tree.leaves, tree.spines, tree.tiers) == (1, 0, 1)
    assert TREE.tree(145, 1).leaves == 3


@pytest.mark.parametrize("ports", [64, 144])
def test_three_tiers_of_a_full_tree(ports: int) -> None:
    """A k-port three-tier tree holds k^3/4 hosts on 5 k^2/4 switches."""
    fabric = Fabric(switch=Switch(title="", ports=ports, rate=Bandwidth(1e9), power=Watts(1.0)))
    tree = fabric.tree(ports**3 // 4, 1)
    assert (tree.tiers, tree.switches) == (3, 5 * ports**2 // 4)


def test_three_tiers_of_the_h100_superpod() -> None:
    """NVIDIA's DGX SuperPOD H100: 4,096 GPUs on 64-port switches, 128 leaf, 128 spine, 64 core."""
    fabric = Fabric(
        switch=Switch(title="", ports=64, rate=Bandwidth(5e10), power=Watts(1.0)), layout="aligned"
    )
    tree = fabric.tree(512, 8)
    assert (tree.leaves, tree.spines, tree.cores) == (128, 128, 64)


def test_oversubscription_saves_switches() -> None:
    assert split(144, 2.0) == (96, 48)
    assert split(144, 4.0) == (112, 28)
    assert split(144, 1.37) is None
    tapered = Fabric(switch=SWITCH, oversubscription=2.0)
    assert tapered.tree(4608, 1).switches < TREE.tree(4608, 1).switches


@given(st.integers(1, 90_000), st.sampled_from([1.0, 1.5, 2.0, 3.0]), st.sampled_from([1, 4, 8]))
def test_every_port_has_a_place(hosts: int, ratio: float, nics: int) -> None:
    """No switch has more cables than ports, and every host has a port."""
    fabric = Fabric(switch=SWITCH, oversubscription=ratio)
    tree = fabric.tree(hosts, nics)
    if tree.tiers == 1:
        assert tree.ends <= SWITCH.ports
        return
    assert tree.leaves * tree.down >= tree.ends == hosts * nics
    assert tree.down + tree.up <= SWITCH.ports
    assert tree.pod_spines * tree.links == tree.up
    below = tree.pod_leaves * tree.links
    assert below + tree.spine_up(0) <= SWITCH.ports
    if tree.tiers == 3:
        most = -(-tree.spine_up(0) // tree.group_cores)  # cables between a core and a pod
        assert most * tree.pods <= SWITCH.ports
        assert sum(tree.leaves_of(pod) for pod in range(tree.pods)) == tree.leaves
    assert fabric.power(hosts + 1, nics) >= 0


def described(folder: Path, fabric: str) -> None:
    path = folder / "mine.yaml"
    path.write_text(f"{{extends: azure-nd-gb300-v6,\nfabric: {{{fabric}}}}}\n")
    hardware.cluster(path)


@pytest.mark.parametrize(
    ("fabric", "message"),
    [
        ("oversubscription: 1.37", r"line 2 .*1.37 cannot be built from the 144 ports of a leaf; "
         r"use 1.36 \(68 down, 50 up\) or 1.38 \(69 down, 50 up\)"),
        ("leaf_down: 100", "100 ports down and 100 up are 200, over the 144 of a switch"),
        ("leaf_down: 77, oversubscription: 2", "leave 38.5 up, no whole number"),
        ("spines: 30", "72 uplinks of a leaf do not spread over 30 spines equally; use 36, 72"),
        ("spines: 8", "64 leaves with 9 links each are 576 ports of a spine, over its 144"),
        ("layout: rails, rails: 3", "unequal: 4 NICs of a host do not spread over 3 rails; "
         "use 1 or 2 or 4"),
        ("rails: 4", "a single fabric has none"),
        ("layout: ring", "'ring' is not known"),
        ("switch: quantum-2", "a NIC sends 800 Gb/s, a port of .* carries 400 Gb/s"),
        ("}, racks: 20000, site: {", "1,440,000 host ports are more than the 746,496 that three"),
    ],
)  # fmt: skip
def test_fabrics_that_do_not_add_up(fabric: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        described(tmp_path, fabric)
    assert len(caught.value.findings) == 1
