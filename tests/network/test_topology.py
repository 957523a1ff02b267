"""Ports, NICs and their names, there and back, over every layout."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.network.fabrics import SIZES, small

from racktwin import hardware
from racktwin.network.topology import Topology


@pytest.mark.parametrize(("name", "nodes", "changes", "ports"), SIZES)
def test_every_nic_has_a_port_of_its_own(
    name: str, nodes: int, changes: dict[str, object], ports: int
) -> None:
    topology = Topology(small(name, nodes, changes, ports))
    nics = np.arange(topology.nics)
    for plane in range(topology.planes):
        leaf, port = topology.plug(nics, plane)
        assert leaf.max() < topology.leaves
        assert port.max() < topology.tree.down
        assert len(np.unique(leaf * ports + port)) == topology.nics
        back = [topology.plugged(int(a), int(b)) for a, b in zip(leaf, port, strict=True)]
        assert back == nics.tolist()
        pods = topology.pod_of(leaf)
        assert all(one in topology.leaves_in(int(pod)) for one, pod in zip(leaf, pods, strict=True))
    taken = {
        topology.plugged(leaf, port)
        for leaf in range(topology.leaves)
        for port in range(topology.tree.down)
    }
    assert taken - {None} == set(nics.tolist())


def test_a_leaf_is_a_rack_in_the_single_fabric_and_a_rail_in_the_others() -> None:
    cluster = hardware.cluster("azure-nd-gb300-v6")
    nics = np.arange(4608)
    leaf, _ = Topology(cluster).plug(nics)
    assert (leaf == nics // 72).all()
    fabric = msgspec.structs.replace(cluster.fabric, layout="rails")
    topology = Topology(msgspec.structs.replace(cluster, fabric=fabric))
    leaf, _ = topology.plug(nics)
    assert (leaf // 16 == nics % 4).all()  # 16 leaves a rail
    assert np.bincount(leaf[nics // 72 < 4]).tolist()[::16] == [72] * 4  # 18 of each of 4 racks


def test_names_count_from_zero() -> None:
    topology = Topology(hardware.cluster("azure-nd-gb300-v6"))
    assert topology.gpu_name(225) == "rack3/host2/1"
    assert topology.gpu_name(4607) == "rack63/host17/3"
    assert topology.gpu_of(225) == 225
    assert topology.leaf_name(9) == "leaf9"


def test_a_hundred_thousand_gpus() -> None:
    topology = Topology(hardware.cluster("azure-nd-gb300-v6", racks=1400))
    assert (topology.gpus, topology.leaves, topology.tree.tiers) == (100_800, 1400, 3)
    assert topology.leaves * 72 == topology.nics
