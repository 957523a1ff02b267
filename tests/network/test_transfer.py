"""Copies from GPU to GPU."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import network
from racktwin.hardware import Cluster, Place
from racktwin.network.fabric import tiers


def test_a_kv_cache_over_nvlink_by_hand(rack: Cluster) -> None:
    """770 MB at 85.5 % of 900 GB/s: 1.0007 ms and 10 us to start."""
    price = network.transfer(7.7e8, rack.place(72), rack)
    assert price.seconds == pytest.approx(10e-6 + 7.7e8 / 769.5e9)
    assert "NVLink" in str(price.evidence)


def test_a_kv_cache_between_racks_takes_the_nic(rack: Cluster) -> None:
    """50 MB at 50 GB/s, what Azure measures of 100: 1 ms and 14 us to start."""
    price = network.transfer(5e7, rack.place(144), rack)
    assert price.seconds == pytest.approx(1.014e-3)
    energy = float(tiers().nvlink_energy) + 0.5 * float(tiers().nic_energy)
    assert price.joules == pytest.approx(5e7 * energy)


@pytest.mark.parametrize("run", [network.transfer, network.point_to_point])
def test_floors_and_nothing(run: object, hopper: Cluster) -> None:
    size = np.geomspace(1, 1e12, 40)
    for place, line in ((hopper.place(8), hopper.nvlink), (Place(2, 1, 1), hopper.nic)):
        time = run(size, place, hopper).seconds
        assert np.all(time > size / line)
        assert np.all(np.diff(time) >= 0)
    assert run([0.0, 5.0], hopper.place(1), hopper).seconds.tolist() == [0, 0]
    assert run(0.0, hopper.place(2), hopper).seconds == 0


def test_a_send_is_half_of_an_all_to_all_of_two(hopper: Cluster) -> None:
    pair = network.all_to_all(2e6, hopper.place(2), hopper).seconds
    assert network.point_to_point(1e6, hopper.place(8), hopper).seconds == pair
