"""Jobs on a fabric: closed forms, published results, and what faults and neighbours cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.hardware import Cluster
from racktwin.network import bound
from racktwin.network.contention import JobOutcome, contend
from racktwin.network.fault import read_faults
from racktwin.network.filling import fill
from racktwin.network.health import Health
from racktwin.network.links import Links
from racktwin.network.problem import ACTIVE, workspace
from racktwin.network.routing import Routing
from racktwin.network.tier import LEAF_UP
from racktwin.network.topology import Topology
from racktwin.network.traffic import NAMES, Job, Pattern, Traffic, demand
from racktwin.network.traffic_file import read_traffic
from racktwin.units import Fraction

AZURE = hardware.cluster("azure-nd-gb300-v6")
NIC = 1e11  # B/s
ROUND_TRIP = 2 * 3.5e-6  # over three switches, s


def cluster(share: float = 1.0, whole: Cluster = AZURE, **changes: Any) -> Cluster:
    """The machine with NICs that reach `share` of their rate."""
    fabric = msgspec.structs.replace(whole.fabric, nic_efficiency=Fraction(share), **changes)
    return msgspec.structs.replace(whole, fabric=fabric)


def job(pattern: Pattern, gpus: Any, size: float, to: Any = (), **more: Any) -> Job:
    return Job(name=pattern, pattern=pattern, gpus=np.array(gpus, np.int64),
               to=np.array(to, np.int64), size=size, **more)  # fmt: skip


def run(
    on: Cluster, *jobs: Job, routing: Routing = "adaptive", faults: str = "", **more: Any
) -> tuple[JobOutcome, ...]:
    broken = read_faults(faults, Topology(on))
    traffic = Traffic(cluster=on, jobs=jobs, routing=routing, faults=broken, **more)
    return contend(traffic).jobs


def test_an_incast_waits_for_its_receiver() -> None:
    (found,) = run(AZURE, job("incast", range(16), 8e6, [80]))
    assert found.last == pytest.approx(16 * 8e6 / (0.5 * NIC) + ROUND_TRIP)
    assert found.floor == pytest.approx(16 * 8e6 / NIC)


def test_a_flow_inside_a_rack_is_a_copy_over_nvlink() -> None:
    (found,) = run(AZURE, job("transfer", [0], 9e8, [71]))
    assert found.last == pytest.approx(9e8 / (9e11 * 0.855) + 2 * 900e-9)


@pytest.mark.parametrize(("routing", "share"), [("adaptive", 0.77), ("spray", 0.564)])
def test_a_permutation_gets_the_share_of_its_routing(routing: Routing, share: float) -> None:
    (found,) = run(cluster(), job("permutation", range(4608), 4e6), routing=routing)
    busiest = found.bytes / 4608 / (NIC * share) + ROUND_TRIP
    assert found.middle == pytest.approx(busiest, rel=0.02)
    assert found.flows == 4608


def test_all_to_all_of_the_whole_machine() -> None:
    """1 GB over 4,608 ranks: 4,536 of 4,608 parts leave the rack, at 97 % of NICs and uplinks."""
    (found,) = run(cluster(0.97), job("all_to_all", range(4608), 1e9))
    assert found.seconds == pytest.approx(1e9 * 4536 / 4608 / (0.97 * NIC) + ROUND_TRIP, rel=1e-3)
    floor = float(bound("all_to_all", 1e9, AZURE.place(4608), AZURE))
    assert found.floor == pytest.approx(floor)
    assert found.seconds >= floor


def test_all_reduce_over_racks_is_its_busier_tier() -> None:
    """64 rings of shards: 2 x 63/64 x M/72 over each NIC, 2 x 71/72 x M over NVLink at 85.5 %."""
    (found,) = run(cluster(), job("all_reduce", range(4608), 7.2e9))
    outer = 2 * 63 / 64 * 1e8 / (0.97 * NIC)
    inner = 2 * 71 / 72 * 7.2e9 / (0.855 * 9e11)
    assert found.seconds == pytest.approx(max(outer, inner), rel=1e-3)


def test_rails_make_no_difference_to_all_to_all() -> None:
    """NICs at 90 % are the bottleneck of every wiring."""
    found = [
        run(cluster(0.9, layout=layout), job("all_to_all", range(4608), 1e8))[0].seconds
        for layout in ("single", "rails", "aligned")
    ]
    assert found == pytest.approx([found[0]] * 3, rel=5e-3)


def test_a_dead_spine_costs_its_share() -> None:
    """Uplinks at 97 % are the bottleneck of whole NICs: 35 of 36 spines are left."""
    whole, hurt = (
        run(cluster(), job("all_to_all", range(4608), 1e9), faults=faults)[0].seconds
        for faults in ("", "spine:3")
    )
    assert (hurt - ROUND_TRIP) / (whole - ROUND_TRIP) == pytest.approx(36 / 35, rel=1e-4)


def test_oversubscription_halves_what_leaves_a_leaf() -> None:
    flat, tapered = (
        run(cluster(oversubscription=ratio), job("all_to_all", range(4608), 1e9))[0].seconds
        for ratio in (1.0, 2.0)
    )
    up, leaves = 48, 48
    assert tapered == pytest.approx(1e9 * 96 * (1 - 96 / 4608) / (up * 0.97 * NIC), rel=5e-3)
    assert leaves * 96 == 4608
    assert tapered > 1.9 * flat


def test_a_slow_rank_slows_its_ring() -> None:
    (found,) = run(cluster(), job("all_reduce", range(0, 4608, 72), 1e9),
                   faults="slow:rack5/host0/0@50%")  # fmt: skip
    assert found.seconds == pytest.approx(2 * 63 / 64 * 1e9 / (0.5 * NIC), rel=1e-3)


def test_a_lost_plane_of_ethernet_is_half_a_nic() -> None:
    on = cluster(whole=hardware.cluster("hgx-b300-spectrum-x"))
    flow = job("transfer", [0], 1e9, [4000])
    whole, half = (run(on, flow, faults=faults)[0].seconds for faults in ("", "cable:leaf0/0"))
    assert whole == pytest.approx(1e9 / NIC, rel=1e-3)
    assert half == pytest.approx(2e9 / NIC, rel=1e-3)


def test_neighbours_share_a_receiver() -> None:
    """Two flows into one NIC take twice as long; weights 3 and 1 share it so; priority is first."""
    first, second = (job("transfer", [gpu], 1e9, [200]) for gpu in (0, 80))
    alone = 1e9 / NIC
    both = run(cluster(), first, second)
    assert [each.slowdown for each in both] == pytest.approx([2.0, 2.0], rel=1e-3)
    heavy = msgspec.structs.replace(first, weight=3.0)
    found = [each.seconds / alone for each in run(cluster(), heavy, second)]
    assert found == pytest.approx([4 / 3, 2.0], rel=1e-3)
    urgent = msgspec.structs.replace(first, priority=1, level=1)
    found = [each.seconds / alone for each in run(cluster(), urgent, second)]
    assert found == pytest.approx([1.0, 2.0], rel=1e-3)


def test_repetitions_start_on_time() -> None:
    turns = job("transfer", [0], 1e8, [200], repeat=5, every=0.01)
    (found,) = run(cluster(), turns)
    assert found.seconds == pytest.approx(4 * 0.01 + 1e8 / NIC + ROUND_TRIP)
    assert found.last == pytest.approx(found.first)


def clos(nodes: int, each: int, spines: int) -> Cluster:
    """`nodes` hosts of one NIC under leaves of `each`."""
    host = msgspec.structs.replace(AZURE.rack.host, gpus=1, nics=1)
    rack = msgspec.structs.replace(AZURE.rack, host=host, hosts=nodes, switches=0)
    whole = msgspec.structs.replace(AZURE, rack=rack, hosts=nodes)
    return cluster(whole=whole, leaf_down=each, spines=spines)


def test_effective_bisection_of_512_nodes() -> None:
    """Geoffray and Hoefler, HOTI 2008: random pairs both ways, 38 % static and 77 % adaptive."""
    on = clos(512, 16, 16)
    for routing, expected in (("static", 0.38), ("adaptive", 0.77)):
        shares = []
        for seed in range(12):
            traffic = Traffic(cluster=on, jobs=(job("pairs", range(512), 1e6),), seed=seed,
                              routing=routing)  # type: ignore[arg-type]  # fmt: skip
            links = Links(Health(Topology(on)), traffic.routing)
            problem, used = demand(traffic, links, (0,)).problem()
            work = workspace(problem, 1)
            work.active[:], work.state[:] = np.arange(len(problem.size)), ACTIVE
            fill(problem, work, len(problem.size), 1)
            ends = [links.name(int(each)) for each in used[problem.link[problem.head[:-1]]]]
            into = [links.name(int(each)) for each in used[problem.link[problem.head[1:] - 1]]]
            rate = dict(zip(ends, work.rate, strict=True))
            back = [rate[name.replace("NIC in", "NIC out")] for name in into]
            shares.append(np.minimum(work.rate, back).mean() / NIC)
        assert np.mean(shares) == pytest.approx(expected, abs=0.025)


def test_the_packet_level_permutation_of_128_nodes(root: Path) -> None:
    """Last flow 138.8 us static, 78.9 sprayed, 62.4 adaptive, in packets; 40 us in an ideal fluid.

    The packet-level run had at most three flows on a link: a fourth would have taken 160 us.
    """
    asked = read_traffic(root / "examples/fabric/permutation.yaml")
    last = {}
    for routing in ("static", "spray", "adaptive"):
        found = contend(msgspec.structs.replace(asked, routing=routing))
        last[routing] = found.jobs[0].last * 1e6
        if routing == "static":
            assert found.jobs[0].floor * 1e6 == pytest.approx(120)  # three flows of 40 us
    assert last["static"] == pytest.approx(138.8, rel=0.01)
    assert last["spray"] == pytest.approx(78.9, rel=0.01)
    assert last["adaptive"] == pytest.approx(62.4, rel=0.05)
    assert last["static"] / last["adaptive"] == pytest.approx(2.22, rel=0.15)


def test_how_hashes_fall_decides_static_paths(root: Path) -> None:
    asked = read_traffic(root / "examples/fabric/permutation.yaml")
    found = contend(asked, draws=10)
    assert len(found.draws[0]) == 10
    assert min(found.draws[0]) < max(found.draws[0])
    assert found.draws[0][0] == pytest.approx(found.jobs[0].seconds)
    assert contend(asked).jobs == contend(asked).jobs


def test_uplinks_are_used_no_more_than_they_carry() -> None:
    asked = Traffic(cluster=cluster(), routing="static",
                    jobs=(job("random", range(4608), 1e6, flows=20_000, over=1e-3),))  # fmt: skip
    found = contend(asked)
    assert found.run.peak[:, LEAF_UP].max() <= 0.92 + 1e-9
    assert found.run.grain > 0
    assert found.jobs[0].seconds >= found.jobs[0].floor


ANY_JOB = st.builds(
    lambda pattern, gpus, size, start, level: job(
        pattern, sorted(gpus), size, [300, 301] if pattern in ("incast", "transfer") else (),
        start=start, flows=9 if pattern == "random" else 0, level=level,
    ),
    st.sampled_from(NAMES), st.sets(st.integers(0, 287), min_size=2, max_size=12),
    st.floats(1.0, 1e9), st.sampled_from([0.0, 1e-4]), st.integers(0, 1),
)  # fmt: skip


@given(st.lists(ANY_JOB, min_size=1, max_size=3), st.sampled_from(["static", "adaptive", "rail"]),
       st.sampled_from(["", "spine:0", "plane:leaf0/80/1,slow:rack0/host1/1@30%"]),
       st.booleans())  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_no_job_beats_its_links(jobs: list[Job], routing: Routing, faults: str, calm: bool) -> None:
    on = cluster(0.9, hardware.cluster("azure-nd-gb300-v6", racks=5), layout="aligned")
    found = run(on, *jobs, routing=routing, faults=faults,
                control="telemetry" if calm else "none", isolated=calm)  # fmt: skip
    for each in found:
        assert each.seconds >= each.floor
        assert each.alone >= each.floor
        assert each.first <= each.middle <= each.last
