"""The shipped tables against the raw ones, point by point, read independently of tools/."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from racktwin import hardware
from racktwin.kernels import Kernels


def raw(shared: Path, system: str, name: str) -> pl.DataFrame:
    return pl.read_parquet(shared / "kernels" / system / f"{name}_perf.parquet")


@pytest.mark.parametrize(("chip", "dtype"), [("gb300", "nvfp4"), ("h200", "fp8_block")])
def test_gemm_is_the_fastest_of_the_frameworks(shared: Path, chip: str, dtype: str) -> None:
    kernels = Kernels(hardware.chip(chip), "vllm")
    tables = [
        raw(shared, kernels.chip.tables, f"gemm.{each}.gemm").select(
            "gemm_dtype", "m", "n", "k", "latency"
        )
        for each in ("trtllm", "sglang", "vllm")
    ]
    rows = pl.concat(tables).filter(
        (pl.col("gemm_dtype") == dtype) & pl.col("n").is_in([1024, 4096, 7168])
    )
    best = rows.filter(pl.col("k").is_in([2048, 7168])).group_by("m", "n", "k")
    best = best.agg(pl.col("latency").min() * 1e-3)
    errors = []
    for (n, k), group in best.group_by("n", "k"):
        priced = kernels.gemm(group["m"].to_numpy(), int(str(n)), int(str(k)), dtype).seconds
        errors.append(np.abs(priced / group["latency"].to_numpy() - 1))
    pooled = np.concatenate(errors)
    assert np.median(pooled) < 0.03
    assert np.percentile(pooled, 90) < 0.25


@pytest.mark.parametrize("framework", ["trtllm", "sglang", "vllm"])
def test_decode_attention_is_the_frameworks_own(shared: Path, framework: str) -> None:
    kernels = Kernels(hardware.chip("gb300"), framework)
    rows = raw(shared, "gb300", f"attention.{framework}.generation_attention").filter(
        (pl.col("num_heads") == 8)
        & (pl.col("num_key_value_heads") == 1)
        & (pl.col("head_dim") == 128)
        & (pl.col("window_size") == 0)
        & (pl.col("kv_cache_dtype") == "fp8")
    )
    best = rows.group_by("batch_size", "step").agg(pl.col("latency").min() * 1e-3)
    priced = kernels.attention_decode(
        best["batch_size"].to_numpy(),
        best["step"].to_numpy() + 1,
        heads=8,
        kv_heads=1,
        head_dim=128,
        kv_dtype="fp8",
    )
    errors = np.abs(priced.seconds / best["latency"].to_numpy() - 1)
    assert np.median(errors) < 0.02, "half of the points are stored"
    assert np.percentile(errors, 90) < 0.2


def test_no_capped_efficiency_hides_a_slow_table(shared: Path) -> None:
    rows = raw(shared, "b200_sxm", "gemm.vllm.gemm").filter(
        (pl.col("gemm_dtype") == "fp8_block") & (pl.col("n") == 4096) & (pl.col("k") == 4096)
    )
    slow = float(rows.filter(pl.col("m") == 64)["latency"][0]) * 1e-3
    priced = Kernels(hardware.chip("b200"), "vllm").gemm(64, 4096, 4096, "fp8_block")
    assert priced.seconds < slow / 5, "the host-bound vLLM table must not be used"
