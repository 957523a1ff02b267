"""Clusters: scaled, described by a user's file, priced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import catalog, hardware
from racktwin.finding import BadInput
from racktwin.hardware import Cluster


def described(folder: Path, text: str) -> Cluster:
    path = folder / "mine.yaml"
    path.write_text(text)
    return hardware.cluster(path)


def test_the_file_of_the_guide(tmp_path: Path) -> None:
    cluster = described(
        tmp_path,
        "extends: azure-nd-gb300-v6\nracks: 8\nfabric: {oversubscription: 2}\n"
        "site: {electricity: $0.07/kWh, weather: phoenix.epw}\nprice: $4.50/GPU/h\n",
    )
    assert (cluster.name, cluster.racks, cluster.gpus) == ("mine", 8, 576)
    assert (cluster.price, cluster.price_note) == (4.5, "given in mine.yaml")
    assert (cluster.site.electricity, cluster.site.weather) == (0.07, "phoenix.epw")
    assert (cluster.site.pue, cluster.fabric.oversubscription) == (1.15, 2.0)


def test_deep_parts_can_be_replaced(tmp_path: Path) -> None:
    cluster = described(
        tmp_path,
        "extends: hgx-b200\nnodes: 3\nrack: {host: {chip: h200, nic: 200 Gb/s}}\n",
    )
    assert (cluster.chip.name, cluster.chip.memory_sold) == ("h200", 141e9)
    assert "nvfp4" not in cluster.chip.peak
    assert (cluster.nic, cluster.gpus, cluster.racks) == (25e9, 24, 1)


def test_a_chip_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("extends: gb300\nmemory_bandwidth: 4 TB/s\n")
    text = "extends: azure-nd-gb300-v6\nrack: {host: {chip: slow.yaml}}\n"
    with pytest.raises(BadInput, match="price: is missing and none is known for 'slow'"):
        described(tmp_path, text)
    cluster = described(tmp_path, text + "price: 5\n")
    assert cluster.chip.memory_bandwidth == 4e12
    assert hardware.chip("gb300").memory_bandwidth == 8e12


def test_all_faults_of_a_file_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        described(
            tmp_path,
            "extends: azure-nd-gb300-v6\nracks: -1\nrack: {host: {chip: gb3000, gpus: 4.5}}\n"
            "fabirc: {}\nfabric: {oversubscription: 0}\nprice: free\nsite: {pue: 0.9}\n",
        )
    keys = [finding.key for finding in caught.value.findings]
    assert keys == ["racks", "rack.host.chip", "rack.host.gpus", "fabirc",
                    "fabric.oversubscription", "price", "site.pue"]  # fmt: skip
    assert "did you mean 'gb300'" in str(caught.value)


def test_racks_or_nodes(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="give racks or nodes, not both"):
        described(tmp_path, "extends: hgx-b200\nracks: 2\nnodes: 3\n")
    assert described(tmp_path, "extends: hgx-b200\nnodes: 3\n").hosts == 3
    (tmp_path / "base.yaml").write_text("extends: hgx-b200\nnodes: 3\n")
    assert described(tmp_path, "extends: base.yaml\nracks: 2\n").hosts == 8


@pytest.mark.parametrize("count", [0, -1, 1.5, True, 10**9, float("nan")])
def test_sizes_that_are_none(count: float) -> None:
    with pytest.raises(BadInput, match="expected a whole number"):
        hardware.cluster("hgx-b200", nodes=count)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="racks or nodes"):
        hardware.cluster("hgx-b200", racks=1, nodes=1)


@given(st.integers(1, 2000))
def test_a_cluster_is_the_sum_of_its_nodes(nodes: int) -> None:
    cluster = hardware.cluster("azure-nd-gb300-v6", nodes=nodes)
    assert (cluster.gpus, cluster.cpus) == (4 * nodes, 2 * nodes)
    assert cluster.racks == -(-nodes // 18)
    assert cluster.fast_memory == pytest.approx(nodes * (4 * 279e9 + 2 * 480e9))
    more = hardware.cluster("azure-nd-gb300-v6", nodes=nodes + 1)
    assert more.power > cluster.power > nodes * cluster.rack.host.power


@pytest.mark.parametrize("name", catalog.names("clusters"))
def test_default_prices_name_their_origin(name: str) -> None:
    cluster = hardware.cluster(name)
    assert 1 < cluster.price < 30
    assert "catalog/prices.yaml" in cluster.price_note


def test_the_price_of_gb300_is_an_assumption() -> None:
    note = hardware.cluster("azure-nd-gb300-v6").price_note
    assert "(assumed)" in note
    assert "not published" in note
    assert hardware.cluster("azure-nd-gb200-v6").list_price == 27.04


def test_host_memory_and_its_way_to_a_gpu() -> None:
    """A VM has 864 GiB of a tray; copies reach 201 GB/s alone, half of 389 with two GPUs each."""
    tray = hardware.cluster("azure-nd-gb300-v6").rack.host
    assert tray.memory == 864 * 2**30
    assert tray.to_gpu == 389e9 / 2
    node = hardware.cluster("hgx-b200").rack.host
    assert (node.memory, node.to_gpu) == (2e12, 51e9)
