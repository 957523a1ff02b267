"""The fabric as it stands: SHARP of its file, oversubscription; what is said comes first."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.network.fabrics import small

from racktwin import network
from racktwin.hardware import Cluster, Place
from racktwin.network.standing import standing
from racktwin.network.transfer import point_to_point, transfer
from racktwin.network.way import USUAL, Way

SIZE = 2.0**34


@pytest.fixture(scope="module")
def reducing(rack: Cluster) -> Cluster:
    return msgspec.structs.replace(rack, fabric=msgspec.structs.replace(rack.fabric, sharp=True))


@pytest.fixture(scope="module")
def half() -> Cluster:
    """2:1 at the leaf."""
    return small("azure-nd-gb300-v6", 36, {"oversubscription": 2.0}, 48)


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


def test_half_of_the_uplinks_is_half_of_what_leaves_a_rack(half: Cluster, rack: Cluster) -> None:
    place = half.place(144)
    whole = network.all_to_all(SIZE, place, rack).seconds
    assert network.all_to_all(SIZE, place, half).seconds / whole == pytest.approx(2, rel=0.02)
    assert transfer(SIZE, place, half).seconds / transfer(SIZE, place, rack).seconds > 1.95
    sent = point_to_point(SIZE, place, half).seconds / point_to_point(SIZE, place, rack).seconds
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
        for each in (half, rack)
    ]
    assert exchange[0] / exchange[1] == pytest.approx(2, rel=0.1)
    inside = half.place(72)
    assert np.all(
        network.all_to_all(SIZE, inside, half).seconds
        == network.all_to_all(SIZE, inside, rack).seconds
    )
