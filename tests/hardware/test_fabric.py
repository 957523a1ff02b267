"""The fat tree: NVIDIA's own table, and what a Clos network must satisfy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.hardware import Fabric, Switch
from racktwin.units import Bandwidth, Watts

SWITCH = Switch(title="Q3400", ports=144, rate=Bandwidth(1e11), power=Watts(3250.0))
TREE = Fabric(switch=SWITCH)


@pytest.mark.parametrize(
    ("gpus", "leaves", "spines"),
    [(576, 8, 4), (1152, 16, 8), (2304, 32, 18), (4608, 64, 36), (10368, 144, 72)],
)
def test_switch_counts_of_the_superpod_table(gpus: int, leaves: int, spines: int) -> None:
    assert (TREE.leaves(gpus), TREE.spines(gpus), TREE.tiers(gpus)) == (leaves, spines, 2)


def test_one_switch_is_enough_for_few_ports() -> None:
    assert (TREE.leaves(144), TREE.spines(144), TREE.tiers(144)) == (1, 0, 1)
    assert TREE.leaves(145) == 3


def test_three_tiers_of_a_full_tree() -> None:
    """A k-port three-tier tree holds k^3/4 hosts on 5 k^2/4 switches: here k = 64."""
    small = Fabric(switch=Switch(title="", ports=64, rate=Bandwidth(5e10), power=Watts(1.0)))
    ends = 64**3 // 4
    assert small.tiers(ends) == 3
    assert small.switches(ends) == 5 * 64**2 // 4


def test_oversubscription_saves_switches() -> None:
    assert Fabric(switch=SWITCH, oversubscription=2.0).down == 96
    assert Fabric(switch=SWITCH, oversubscription=2.0).switches(4608) < TREE.switches(4608)


@given(st.integers(1, 10368), st.floats(1.0, 1000.0))
def test_every_port_has_a_place(ends: int, ratio: float) -> None:
    tree = Fabric(switch=SWITCH, oversubscription=ratio)
    leaves, spines = tree.leaves(ends), tree.spines(ends)
    if tree.tiers(ends) == 1:
        assert ends <= SWITCH.ports
        return
    up = SWITCH.ports - tree.down
    assert leaves * tree.down >= ends
    assert spines * SWITCH.ports >= leaves * up
    assert tree.power(ends + 1) >= tree.power(ends)
