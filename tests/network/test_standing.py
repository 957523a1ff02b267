"""The fabric as it stands: SHARP of its file, oversubscription; what is said comes first."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.network.fabrics import small

from racktwin import network
from racktwin.hardware import Cluster, Place
from racktwin.network.hierarchy import nic_bandwidth
from racktwin.network.standing import standing
from racktwin.network.transfer import point_to_point, transfer
from racktwin.network.way import USUAL, Way

SIZE = 2.0**34


@pytest.fixture(scope="module")
def reducing(rack: Cluster) -> Cluster:
    return msgspec.structs.replace(rack, fabric=msgspec.structs.replace(rack.fabric, sharp=True))


FULL: dict[str, object] = {"nic_efficiency": 0.97}


@pytest.fixture(scope="module")
def half() -> Cluster:
    """2:1 at the leaf, and NICs that could fill it."""
    return small("azure-nd-gb300-v6", 36, {"oversubscription": 2.0} | FULL, 48)


@pytest.fixture(scope="module")
def full() -> Cluster:
    return small("azure-nd-gb300-v6", 36, FULL, 36)


def test_sharp_of_a_file_and_sharp_off(reducing: Cluster) -> None:
    """16 GPUs of 16 racks: a NIC sends the buffer once, or 2 x 15/16 of it when told not to."""
    place = Place(16, 1, 1)
    assert standing("all_reduce", place, reducing) == Way(sharp=True)
    on = network.all_reduce(SIZE, place, reducing).seconds
    off = network.all_reduce(SIZE, place, reducing, way=USUAL).seconds
    assert off / on == pytest.approx(2 * 15 / 16, rel=0.01)


def test_a_whole_fabric_is_the_usual_way(rack: Cluster) -> None:
    assert standing("all_to_all", rack.place(144), rack) == USUAL
    assert standing("all_reduce", rack.place(72), rack) == USUAL


def test_half_of_the_uplinks_is_half_of_what_leaves_a_rack(half: Cluster, full: Cluster) -> None:
    place = half.place(144)
    whole = network.all_to_all(SIZE, place, full).seconds
    assert network.all_to_all(SIZE, place, half).seconds / whole == pytest.approx(2, rel=0.02)
    assert transfer(SIZE, place, half).seconds / transfer(SIZE, place, full).seconds > 1.95
    sent = point_to_point(SIZE, place, half).seconds / point_to_point(SIZE, place, full).seconds
    assert sent > 1.95
    exchange = [
        network.dispatch(
            2.0**17,
            hidden=7168,
            bytes_per_value=1.03,
            top_k=8,
            experts=256,
            place=place,
            cluster=each,
            framework="trtllm",
        ).seconds
        for each in (half, full)
    ]
    assert 1.45 < exchange[0] / exchange[1] < 2  # NVLink copies beside it take as long
    inside = half.place(72)
    assert np.all(
        network.all_to_all(SIZE, inside, half).seconds
        == network.all_to_all(SIZE, inside, full).seconds
    )


@pytest.mark.parametrize(("taper", "left"), [(1.0, 0.5), (2.0, 0.97 / 2), (5.0, 0.97 / 5)])
def test_nics_that_reach_half_leave_cables_room(taper: float, left: float) -> None:
    """NICs at 50 % fill half of the cables; only those that carry less than that slow them."""
    asked = small("azure-nd-gb300-v6", 36, {"oversubscription": taper}, 48)
    way = standing("all_to_all", asked.place(144), asked)
    assert nic_bandwidth(asked, way)[0] == pytest.approx(left * 100e9, rel=0.01)


def test_what_is_lost_of_a_nic_is_lost_of_what_it_reaches(rack: Cluster) -> None:
    """A plane of four: 3/4 of 50 %. A spine of 36: 97 % of 35/36 is more than NICs send."""
    assert nic_bandwidth(rack, Way(nic=0.75, port=0.75))[0] == pytest.approx(37.5e9)
    assert nic_bandwidth(rack, Way(nic=35 / 36))[0] == pytest.approx(50e9)
    assert nic_bandwidth(rack, Way(nic=0.25))[0] == pytest.approx(0.97 * 25e9)
