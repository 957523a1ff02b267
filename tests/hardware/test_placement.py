"""Where ranks sit, against a count over the GPUs themselves."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.hardware import Place


def test_by_hand() -> None:
    rack = hardware.cluster("azure-nd-gb300-v6")
    assert rack.place(8) == Place(8, 4, 8)
    assert rack.place(72) == Place(72, 4, 72)
    assert rack.place(96) == Place(96, 4, 72)
    assert (rack.place(96).hosts, rack.place(96).domains) == (24, 2)
    assert rack.place(16, stride=4) == Place(16, 1, 16)
    node = hardware.cluster("azure-nd-h100-v5")
    assert node.place(16) == Place(16, 8, 8)
    assert node.place(4, stride=2) == Place(4, 4, 4)


@given(st.integers(1, 300), st.integers(1, 100), st.sampled_from(["azure-nd-gb300-v6", "hgx-b200"]))
def test_the_fullest_host_and_domain(ranks: int, stride: int, name: str) -> None:
    cluster = hardware.cluster(name)
    gpus = [rank * stride for rank in range(ranks)]
    place = cluster.place(ranks, stride)
    for size, found in ((cluster.gpus_per_host, place.per_host),
                        (cluster.gpus_per_domain, place.per_domain)):  # fmt: skip
        assert found == max(Counter(gpu // size for gpu in gpus).values())
