"""Latent-attention tables: without projections, and the batched products around decode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import every
from racktwin.hardware import Chip
from racktwin.kernels import dtype as formats
from racktwin.kernels.latent import Latent, absorb_work, decode_work, prefill_work
from racktwin.kernels.roofline import seconds

_PRODUCTS = ("trtllm", "sglang")  # vLLM calls the same library on fewer sizes
_DEEPSEEK = {"kv_rank": 512, "rope_dim": 64, "nope_dim": 128, "value_dim": 128}


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        for phase, operator in (("decode", "generation"), ("prefill", "context")):
            table = source.read(framework, f"{operator}_mla")
            if table is not None:
                yield _attention(f"mla_{phase}.{framework}", table, phase, chip)
    for framework in _PRODUCTS:
        table = source.read(framework, "mla_bmm")
        for raw, dtype in (("bfloat16", "bf16"), ("fp8", "fp8")):
            rows = None if table is None else table.filter(pl.col("bmm_dtype") == raw)
            if rows is not None and rows.height:
                yield _absorb(f"mla_absorb.{dtype}.{framework}", rows, dtype, chip)


def _attention(name: str, table: pl.DataFrame, phase: str, chip: Chip) -> Draft:
    length = "context" if phase == "decode" else "tokens"
    rows = table.select(
        "seconds",
        fp8=(pl.col("kv_cache_dtype") == "fp8").cast(pl.Int32),
        heads="num_heads",
        batch="batch_size",
        **{length: pl.col("step") + pl.col("isl")},
    )
    rows = rows.group_by(["fp8", "heads", "batch", length]).agg(pl.col("seconds").min())
    least = np.zeros(rows.height)
    for fp8 in (0, 1):
        kv_dtype = "fp8" if fp8 else "bf16"
        for heads in rows["heads"].unique():
            at = ((rows["fp8"] == fp8) & (rows["heads"] == heads)).to_numpy()
            shape = Latent(heads=heads, kv_dtype=kv_dtype, **_DEEPSEEK)
            batch, size = rows["batch"].to_numpy()[at], rows[length].to_numpy()[at]
            compute = formats.compute(kv_dtype, chip.peak)
            task = (
                decode_work(batch, size, shape, compute)
                if phase == "decode"
                else prefill_work(batch, size, 0, shape, compute)
            )
            least[at] = seconds(task, chip)
    points = rows.with_columns(roofline=pl.Series(least))
    steps = (1, 2) if phase == "decode" else (2, 1)
    axes = {"heads": every(points["heads"], 1)}
    axes |= {
        axis: every(points[axis], step) for axis, step in zip(("batch", length), steps, strict=True)
    }
    return draft(name, points, ["fp8"], axes, name)


def _absorb(name: str, rows: pl.DataFrame, dtype: str, chip: Chip) -> Draft:
    key = ["num_tokens", "num_heads"]
    # Some points stand twice; each of the two products is its median, then they are added.
    both = rows.group_by([*key, "op_name"]).agg(pl.col("seconds").median())
    both = both.group_by(key).agg(pl.col("seconds").sum(), pl.len()).filter(pl.col("len") == 2)
    least = np.zeros(both.height)
    for heads in both["num_heads"].unique():
        at = (both["num_heads"] == heads).to_numpy()
        shape = Latent(heads=heads, kv_dtype="bf16", **_DEEPSEEK)
        tokens = both["num_tokens"].to_numpy()[at]
        compute = formats.compute(dtype, chip.peak)
        least[at] = seconds(absorb_work(tokens, shape, dtype, compute), chip)
    points = both.select(
        "seconds", heads="num_heads", tokens="num_tokens", roofline=pl.Series(least)
    )
    tokens = [
        float(count) for count in points["tokens"].unique().sort() if count & (count - 1) == 0
    ]
    axes = {"heads": every(points["heads"], 1), "tokens": tokens}
    return draft(name, points, [], axes, name)
