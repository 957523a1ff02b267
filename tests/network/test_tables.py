"""The constants that ship against the tables they were fitted to, through the public functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from racktwin import hardware, network
from racktwin.hardware import Cluster, Place
from racktwin.network import fabric

CLUSTERS = {
    "gb300": "azure-nd-gb300-v6",
    "gb200": "azure-nd-gb200-v6",
    "b300_sxm": "hgx-b300",
    "b200_sxm": "hgx-b200",
    "h200_sxm": "azure-nd-h200-v5",
    "h100_sxm": "azure-nd-h100-v5",
}
NOISE = 0.005  # rounding of the constants and of the errors that are written


@dataclasses.dataclass(frozen=True)
class Group:
    """Rows of one operation among one number of ranks."""

    operation: str
    ranks: int
    size: np.ndarray
    seconds: np.ndarray


def groups(path: Path) -> Iterator[Group]:
    rows = pl.read_parquet(path).filter(pl.col("nccl_dtype") == "half")
    keys = ["op_name", "num_gpus", "message_size"]
    rows = rows.group_by(keys).agg(pl.col("latency").median()).sort(keys)
    for (op, ranks), group in rows.group_by(["op_name", "num_gpus"], maintain_order=True):
        size, time = group["message_size"].to_numpy() * 2.0, group["latency"].to_numpy() * 1e-3
        yield Group(str(op).replace("alltoall", "all_to_all"), int(ranks), size, time)


def median(fit: np.ndarray, truth: np.ndarray) -> float:
    return float(np.median(np.abs(fit / truth - 1)))


@pytest.mark.parametrize("system", ["gb300", "gb200", "b200_sxm", "h200_sxm", "h100_sxm"])
def test_nccl(system: str, shared: Path) -> None:
    cluster = hardware.cluster(CLUSTERS[system])
    found = []
    for group in groups(shared / "kernels" / system / "comm.nccl.nccl_perf.parquet"):
        place = Place(group.ranks, min(4, group.ranks), group.ranks)
        price = getattr(network, group.operation)(group.size, place, cluster)
        assert price.evidence.kind == "measured"
        curve = fabric.nccl().curves[system][group.operation][str(group.ranks)]
        assert curve.error is not None
        found.append(median(price.seconds, group.seconds))
        assert found[-1] <= curve.error.median + NOISE, group
    assert np.mean(found) < 0.02


@pytest.mark.parametrize("framework", ["trtllm", "sglang", "vllm"])
@pytest.mark.parametrize("system", CLUSTERS)
def test_engines(system: str, framework: str, shared: Path) -> None:
    cluster = hardware.cluster(CLUSTERS[system])
    path = shared / "kernels" / system / f"comm.{framework}.custom_allreduce_perf.parquet"
    rows = pl.read_parquet(path).filter(~pl.col("kernel_source").str.contains("eager"))
    for (ranks,), group in rows.sort("message_size").group_by(["num_gpus"], maintain_order=True):
        size, time = group["message_size"].to_numpy() * 2.0, group["latency"].to_numpy() * 1e-3
        place = Place(int(ranks), min(4, int(ranks)), int(ranks))
        price = network.all_reduce(size, place, cluster, framework=framework)
        assert price.evidence.kind == "measured"
        assert median(price.seconds, time) < 0.035, (ranks, price.evidence)


def test_rules_predict_every_rank_count_they_have_not_seen() -> None:
    """docs/reference/collectives.md: rank counts held out, median under 9 %, p90 under 31 %."""
    for rules in fabric.nccl().rules.values():
        for rule in rules.values():
            assert rule.error is not None
            assert rule.error.held_median < 0.09
            assert rule.error.held_p90 < 0.31


def test_exchanges_hold_their_errors() -> None:
    found = [
        constants.error
        for library in fabric.experts().libraries.values()
        for phases in library.phases.values()
        for payloads in phases.values()
        for constants in payloads.values()
    ]
    assert len(found) > 90
    held = np.array([[e.held_median, e.held_p90] for e in found if e is not None])
    assert np.median(held, axis=0) == pytest.approx([0.045, 0.125], abs=0.02)
    assert held[:, 0].max() < 0.16


def rows_of_two_sided(shared: Path, phase: str, ranks: int) -> pl.DataFrame:
    rows = pl.read_parquet(shared / "kernels/gb200/comm.trtllm.trtllm_alltoall_perf.parquet")
    mine = (pl.col("op_name") == f"alltoall_{phase}") & (pl.col("moe_ep_size") == ranks)
    kind = (pl.col("kernel_source") == "NVLinkTwoSided") & (pl.col("moe_dtype") == "bfloat16")
    return rows.filter(mine & kind).sort("num_tokens")


@pytest.mark.parametrize("ranks", [4, 8, 16, 32, 64])
def test_balanced_dispatch_on_gb200(ranks: int, shared: Path) -> None:
    """The table's routing touches min(ranks, 8) ranks; a top_k that makes uniform routing do so."""
    cluster: Cluster = hardware.cluster("azure-nd-gb200-v6")
    rows = rows_of_two_sided(shared, "combine", ranks)
    spread = min(ranks, 8) * (1 - 1e-9)
    top_k = np.log1p(-spread / ranks) / np.log1p(-1 / ranks)
    price = network.combine(
        rows["num_tokens"].to_numpy(),
        hidden=7168,
        bytes_per_value=2.0,
        top_k=top_k,
        place=cluster.place(ranks),
        cluster=cluster,
        framework="trtllm",
        library="nvlink_two_sided",
    )
    assert median(price.seconds, rows["latency"].to_numpy() * 1e-3) < 0.055
