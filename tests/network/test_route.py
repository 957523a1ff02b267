"""Paths: where flows go under each routing, and that closed forms equal the sum over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.network.fabrics import SIZES, small

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.network.fault import read_faults
from racktwin.network.health import Health
from racktwin.network.links import Links
from racktwin.network.load import step
from racktwin.network.problem import Floats, Ints
from racktwin.network.route import routes
from racktwin.network.routing import Routing
from racktwin.network.tier import (
    LEAF_DOWN,
    LEAF_UP,
    NIC_OUT,
    NVLINK_IN,
    NVLINK_OUT,
    SPINE_DOWN,
    SPINE_UP,
    TIERS,
)
from racktwin.network.topology import Topology


def links_of(
    name: str,
    nodes: int,
    changes: dict[str, object],
    ports: int,
    routing: Routing,
    faults: str = "",
) -> Links:
    topology = Topology(small(name, nodes, changes, ports))
    return Links(Health(topology, read_faults(faults, topology)), routing)


def summed(links: Links, source: Ints, target: Ints) -> Floats:
    """Flows on each link, path by path."""
    lanes = routes(links, source, target, np.arange(len(source)))
    used = np.zeros(len(source))
    for _, flows in lanes:
        used[flows] += 1
    shares = np.zeros(links.count)
    for rows, flows in lanes:
        for column in range(len(TIERS)):
            there = rows[:, column] >= 0
            np.add.at(shares, rows[there, column], 1 / used[flows][there])
    return shares


def all_pairs(ranks: Ints) -> tuple[Ints, Ints]:
    source, target = (each.ravel() for each in np.meshgrid(ranks, ranks, indexing="ij"))
    return source[source != target], target[source != target]


@pytest.mark.parametrize("routing", ["adaptive", "rail", "static"])
@pytest.mark.parametrize(("name", "nodes", "changes", "ports"), SIZES)
def test_all_to_all_is_the_sum_of_its_flows(
    name: str, nodes: int, changes: dict[str, object], ports: int, routing: Routing
) -> None:
    links = links_of(name, nodes, changes, ports, routing)
    rng = np.random.default_rng(1)
    gpus = links.topology.gpus
    ranks = np.sort(rng.choice(gpus, min(gpus, 60), replace=False))
    made = step(links, "all_to_all", ranks, 1e9, rng)
    expected = summed(links, *all_pairs(ranks))
    if routing == "static":  # hashes differ; what a tier carries does not
        made_tiers, expected_tiers = (
            np.bincount(links.tier, each, len(TIERS)) for each in (made.shares, expected)
        )
        assert made_tiers == pytest.approx(expected_tiers)
    else:
        assert made.shares == pytest.approx(expected)
    assert made.flows == len(ranks) * (len(ranks) - 1)


def test_all_to_all_around_a_dead_plane() -> None:
    links = links_of("hgx-b300-spectrum-x", 20, {}, 64, "adaptive", "cable:leaf0/3,cable:leaf1/0")
    ranks = np.arange(0, 160, 3)
    made = step(links, "all_to_all", ranks, 1e9, np.random.default_rng(0))
    assert made.shares == pytest.approx(summed(links, *all_pairs(ranks)))
    assert not (made.shares[links.line == 0] > 0).any()


@pytest.mark.parametrize(("name", "nodes", "changes", "ports"), SIZES)
def test_hashed_paths_hang_together(
    name: str, nodes: int, changes: dict[str, object], ports: int
) -> None:
    """Up and down cables meet in one spine, or in two of one group joined by one core."""
    links = links_of(name, nodes, changes, ports, "static")
    topology, tree = links.topology, links.topology.tree
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, topology.gpus, (2, 500))
    far = topology.domain_of(source) != topology.domain_of(target)
    for rows, _ in routes(links, source[far], target[far], np.arange(far.sum())):
        climbing = rows[rows[:, LEAF_UP] >= 0]
        up, down = (climbing[:, tier] - links.offset[tier] for tier in (LEAF_UP, LEAF_DOWN))
        if not len(climbing):
            continue
        spine, other = up % tree.up // tree.links, down % tree.up // tree.links
        assert (spine == other).all()
        over = climbing[:, SPINE_UP] >= 0
        pods = [topology.pod_of(each // tree.up) for each in (up, down)]
        assert (over == (pods[0] != pods[1])).all()
        if over.any():
            ports_used = [
                (climbing[over, tier] - links.offset[tier]) % links.trunks
                for tier in (SPINE_UP, SPINE_DOWN)
            ]
            cores = [each % links.trunk % tree.group_cores for each in ports_used]
            assert (cores[0] == cores[1]).all()
            assert (ports_used[0] // links.trunk == spine[over]).all()


def test_hashes_fall_evenly() -> None:
    links = links_of("azure-nd-gb300-v6", 1152, {}, 144, "static")
    source, target = np.arange(72).repeat(4000), np.tile(np.arange(72, 4072), 72)
    found = routes(links, source, target, np.arange(len(source)))[1][0]
    counts = np.bincount(found[:, LEAF_UP] - links.offset[LEAF_UP], minlength=72)[:72]
    assert counts.sum() == 288_000
    assert counts.std() / counts.mean() < 2 / np.sqrt(counts.mean())


def test_dead_links_are_gone_around() -> None:
    faults = "spine:0,cable:leaf3/20,cable:leaf2/13"
    links = links_of("azure-nd-gb300-v6", 40, {}, 24, "static", faults)
    source, target = all_pairs(np.arange(160))
    far = links.topology.domain_of(source) != links.topology.domain_of(target)
    rows = routes(links, source[far], target[far], np.arange(far.sum()))[1][0]
    assert (links.line[rows[rows >= 0]] > 0).all()
    assert len(rows) == far.sum()


def test_messages_ride_nvlink_to_the_rail_of_the_receiver() -> None:
    """PXN: GPU 0 to GPU 5 of the next domain leaves through GPU 1, whose NIC is on rail 1."""
    links = links_of("azure-nd-gb300-v6", 40, {"layout": "aligned"}, 24, "rail")
    row = routes(links, np.array([0]), np.array([77]), np.array([0]))[1][0][0]
    assert row[NVLINK_OUT] == links.of(NVLINK_OUT, 0)
    assert row[NVLINK_IN] == links.of(NVLINK_IN, 1)
    assert row[NIC_OUT] == links.of(NIC_OUT, 1)
    adaptive = links_of("azure-nd-gb300-v6", 40, {"layout": "aligned"}, 24, "adaptive")
    row = routes(adaptive, np.array([0]), np.array([77]), np.array([0]))[1][0][0]
    assert row[NVLINK_OUT] == -1
    assert row[NIC_OUT] == links.of(NIC_OUT, 0)


def test_spray_fills_the_weakest_cable_first() -> None:
    """A plane lost of one of 12 uplinks: 12 x 75 % for sprayed packets, 11.75 for adaptive ones."""
    found = {}
    for routing in ("spray", "adaptive"):
        links = links_of("azure-nd-gb300-v6", 40, {}, 24, routing, "plane:leaf0/15/1")  # type: ignore[arg-type]
        found[routing] = links.line[links.of(LEAF_UP, 0)] / 1e11
    assert found == pytest.approx({"spray": 9.0, "adaptive": 11.75})


def test_ranks_that_are_cut_off_are_named() -> None:
    links = links_of("azure-nd-gb300-v6", 40, {}, 24, "adaptive", "nic:rack1/host0/2,leaf:0")
    with pytest.raises(BadInput, match=r"rack0/host0/0 \(leaf:0\), .*rack1/host0/2 \(nic:rack1"):
        routes(links, np.array([0, 1]), np.array([74, 80]), np.array([0, 1]))


def test_leaves_without_a_common_spine_are_cut_off() -> None:
    near = ",".join(f"cable:leaf0/{12 + port}" for port in range(6))
    far = ",".join(f"cable:leaf9/{18 + port}" for port in range(6))
    for routing in ("static", "adaptive"):
        links = links_of("azure-nd-gb300-v6", 40, {}, 24, routing, f"{near},{far}")  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="no live path from rack0/host0/0 and rack1/host9/0"):
            routes(links, np.array([0]), np.array([108]), np.array([0]))


def test_names_of_links() -> None:
    links = Links(Health(Topology(hardware.cluster("azure-nd-gb300-v6"))), "static")
    assert links.name(int(links.of(LEAF_UP, 7 * 72 + 13))) == "leaf7 port 85, up"
    assert links.name(int(links.of(NIC_OUT, 225))) == "rack3/host2/1, NIC out"
    assert links.name(225) == "rack3/host2/1, NVLink out"
