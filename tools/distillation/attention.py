"""Attention tables: a grid over batch and length for every head layout, window and cache format."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import every
from racktwin.hardware import Chip
from racktwin.kernels import dtype as formats
from racktwin.kernels.attention import Heads, decode_work, prefill_work
from racktwin.kernels.roofline import seconds

_KEYS = ["fp8", "head_dim", "window", "heads", "kv_heads"]
_VALUE_DIM = {192: 128}  # MiMo-V2 and DeepSeek: values are narrower than keys


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        for phase, operator in (("decode", "generation"), ("prefill", "context")):
            table = source.read(framework, f"{operator}_attention")
            if table is not None:
                yield _draft(f"attention_{phase}.{framework}", table, phase, chip)


def _draft(name: str, table: pl.DataFrame, phase: str, chip: Chip) -> Draft:
    length = "context" if phase == "decode" else "tokens"
    rows = table.select(
        "seconds",
        "head_dim",
        fp8=(pl.col("kv_cache_dtype") == "fp8").cast(pl.Int32),
        window="window_size",
        heads="num_heads",
        kv_heads="num_key_value_heads",
        batch="batch_size",
        **{length: pl.col("step") + pl.col("isl")},
    )
    # The cache format is given; of the kernels that serve it an engine runs the fastest.
    rows = rows.group_by([*_KEYS, "batch", length]).agg(pl.col("seconds").min())
    points = rows.with_columns(roofline=pl.Series(_roofline(rows, phase, length, chip)))
    # Decode varies most over the batch, prefill over the length: that axis stays whole.
    steps = (1, 2) if phase == "decode" else (2, 1)
    axes = {
        axis: every(points[axis], step) for axis, step in zip(("batch", length), steps, strict=True)
    }
    return draft(name, points, _KEYS, axes, name)


def _roofline(rows: pl.DataFrame, phase: str, length: str, chip: Chip) -> np.ndarray:
    least = np.zeros(rows.height)
    place = rows.with_row_index("place")
    for key, group in place.group_by(_KEYS):
        fp8, head_dim, window, heads, kv_heads = (int(value) for value in key)
        kv_dtype = "fp8" if fp8 else "bf16"
        shape = Heads(
            heads, kv_heads, head_dim, _VALUE_DIM.get(head_dim, head_dim), window, kv_dtype
        )
        compute = formats.compute(kv_dtype, chip.peak)
        batch, size = group["batch"].to_numpy(), group[length].to_numpy()
        task = (
            decode_work(batch, size, shape, compute)
            if phase == "decode"
            else prefill_work(batch, size, 0, shape, compute)
        )
        least[group["place"].to_numpy()] = seconds(task, chip)
    return least
