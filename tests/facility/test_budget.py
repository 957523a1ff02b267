"""The power chain: figures by hand, published ranges, conservation, lost feeds, limits."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.facility.budget import Budget, budget
from racktwin.facility.chain import facility_of
from racktwin.facility.node import Node, Unbalanced, conserved
from racktwin.hardware import Cluster
from racktwin.units import Watts

NAMES = ("azure-nd-gb300-v6", "azure-nd-gb200-v6", "azure-nd-h100-v5", "hgx-b300-spectrum-x")


@pytest.fixture(scope="module")
def machine() -> Cluster:
    return hardware.cluster("azure-nd-gb300-v6")


def of(cluster: Cluster, **more: object) -> Budget:
    return budget(cluster, facility_of(cluster), **more)  # type: ignore[arg-type]


def node(found: Budget, name: str) -> Node:
    return next(each for _, each in found.tree.walk() if each.name == name)


def test_the_reference_machine_is_as_large_as_published(machine: Cluster) -> None:
    """A rack 132 to 142 kW, 64 of them 8.5 to 9.1 MW, with the fabric 8.9 to 9.8 MW."""
    found = of(machine)
    racks = node(found, "gb300-nvl72")
    assert racks.count == 64
    assert 132e3 < racks.watts / 64 < 142e3
    assert 8.5e6 < racks.watts < 9.1e6
    assert 8.9e6 < found.power.it < 9.8e6
    assert found.power.site == pytest.approx(1.15 * found.power.it)


def test_a_rack_by_hand(machine: Cluster) -> None:
    """Trays of 4 x 1,400 + 2 x 500 + 4 x (30 + 16) + 80 W, 18 NVLink switches, bar, shelves."""
    parts = 18 * (4 * 1400 + 2 * 500 + 4 * 46 + 80) + 18 * 620
    bar = parts + 0.0016 * parts**2 / 132e3
    low, high = 0.5 * (1 / 0.975 - 1), 1 / 0.965 - 1
    load = bar / 264e3
    lost = 264e3 * (low + (load - 0.5) / 0.5 * (high - low))
    found = of(machine)
    assert node(found, "gb300-nvl72").watts / 64 == pytest.approx(bar + lost)
    assert node(found, "gb300-nvl72").loss / 64 == pytest.approx(lost)
    assert node(found, "bus bar").loss / 64 == pytest.approx(bar - parts)


def test_idle_and_partial_loads(machine: Cluster) -> None:
    """Of a tray only GPUs and CPUs follow the load."""
    idle, part = of(machine, load=0.0), of(machine, load=0.7)
    assert node(idle, "tray").watts / 1152 == pytest.approx(4 * 205 + 2 * (50 + 80) + 4 * 46 + 80)
    assert part.each.gpu == pytest.approx(205 + 0.7 * (1400 - 205))
    assert part.each.cpu == pytest.approx(50 + 0.7 * (420 - 50))
    assert node(part, "NVLink switch").watts == node(idle, "NVLink switch").watts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fail", ["", "feed:A", "feed:A,tap:3/B", "transformer:0/B"])
def test_power_is_conserved_at_every_node(name: str, fail: str) -> None:
    """Node by node in the tree, and unit by unit: what comes out of one stage enters the next."""
    found = of(hardware.cluster(name), fail=fail)
    for _, each in found.tree.walk():
        out = each.loss + sum(child.watts for child in each.children)
        if each.children:
            assert out == pytest.approx(each.watts, rel=1e-6)
    below, racks = found.power.inlet, 1
    for stage, out, into in zip(
        found.facility.stages, found.power.out, found.power.into, strict=True
    ):
        size = stage.racks // racks
        for unit in range(len(out)):
            assert below[unit * size : (unit + 1) * size].sum(axis=0) == pytest.approx(out[unit])
        assert (into >= out).all()
        below, racks = into, stage.racks
    leaves = sum(each.watts for _, each in found.tree.walk() if not each.children)
    losses = sum(each.loss for _, each in found.tree.walk())
    assert leaves + losses == pytest.approx(found.power.site, rel=1e-6)


def test_a_node_out_of_balance_is_noticed() -> None:
    good = Node("rack", 1, 100.0, 2.5, (Node("tray", 1, 97.5),))
    assert conserved(good) is good
    with pytest.raises(Unbalanced, match="rack"):
        conserved(
            Node("site", 1, 100.0, 0.0, (Node("rack", 1, 100.0, 2.5, (Node("t", 1, 97.4),)),))
        )


def test_what_one_feed_carries_when_the_other_is_lost(machine: Cluster) -> None:
    """All of it: the shelves of one feed are four of 33 kW, a little less than a rack at full."""
    found, lost = of(machine), of(machine, fail="feed:A")
    shelves = found.levels[0]
    assert shelves.name == "power shelves"
    assert shelves.limit == pytest.approx(4 * 33e3)
    assert shelves.spare == pytest.approx(2 * shelves.now)
    assert shelves.spare == pytest.approx(lost.levels[0].now)
    assert found.binding.name == "power shelves"
    assert shelves.use == pytest.approx(134931.97 / 132e3, rel=1e-5)
    assert (lost.power.inlet[:, 0] == 0).all()
    assert lost.power.site > found.power.site * 0.99


def test_the_cap_that_fits(machine: Cluster) -> None:
    """132 kW at the bar: what is left for 72 GPUs, the bar's loss found by iteration."""
    cap = of(machine).fitting_cap
    assert cap is not None
    parts = 18 * (4 * cap + 2 * 500 + 4 * 46 + 80) + 18 * 620
    assert parts + 0.0016 * parts**2 / 132e3 == pytest.approx(132e3, rel=1e-6)
    again = budget(machine, facility_of(machine), cap=cap)
    assert again.fitting_cap is None
    assert again.growth == pytest.approx(1.0, abs=1e-6)


def test_racks_go_dark_without_a_feed(machine: Cluster) -> None:
    found = of(machine, fail="row:2/A,row:2/B")
    assert found.dark == 8
    assert (found.power.inlet[16:24] == 0).all()
    assert node(found, "gb300-nvl72").count == 56


def test_stranded_power_by_hand(machine: Cluster) -> None:
    """Once the shelves are full, each pdu of one feed carries 2 racks of what they then take."""
    found = of(machine)
    pdu = next(each for each in found.levels if each.name == "pdu")
    assert pdu.oversubscription == pytest.approx(2 * 160e3 / 360e3)
    most = pdu.spare * 132e3 / 134931.97
    assert found.stranded(pdu) == pytest.approx(39 * (360e3 - most), rel=1e-4)
    assert found.stranded(found.binding) == 0


def test_a_budget_binds_before_the_equipment(machine: Cluster) -> None:
    facility = facility_of(machine, {"site": Watts(10e6), "row": Watts(1.2e6)})
    found = budget(machine, facility, cap=1300.0)
    site = found.levels[-1]
    assert (site.name, site.limit, site.budget) == ("site", 10e6, True)
    assert next(each for each in found.levels if each.name == "row").limit == 1.2e6
    assert found.binding.name == "site"


@settings(max_examples=25, deadline=None)
@given(
    load=st.floats(0, 1),
    hosts=st.integers(1, 400),
    more=st.floats(0, 0.3),
    standing=st.floats(0, 0.02),
)
def test_losses_and_loads_only_add(load: float, hosts: int, more: float, standing: float) -> None:
    """Part-full racks too: power never falls with the load, every stage loses, nothing vanishes."""
    cluster = hardware.cluster("azure-nd-gb300-v6", nodes=hosts)
    facility = facility_of(cluster)
    worse = [msgspec.structs.replace(each, standing=standing) for each in facility.stages]
    facility = msgspec.structs.replace(facility, stages=worse)
    low = budget(cluster, facility, load)
    high = budget(cluster, facility, min(1.0, load + more))
    assert high.power.it >= low.power.it
    assert low.power.site >= low.power.it
    drawn = np.asarray([each.sum() for each in low.power.into])
    assert (np.diff(drawn) >= 0).all()
