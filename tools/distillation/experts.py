"""Mixture-of-experts tables: a grid over tokens for every model, layout and weight format."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from racktwin.hardware import Chip
from racktwin.kernels.experts import experts_work
from racktwin.kernels.grouped import Grouped
from racktwin.kernels.roofline import seconds

_DTYPES = {
    "bfloat16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4",
    "int4_wo": "int4",
}
_KEYS = ["hidden", "intermediate", "top_k", "experts", "expert_tensor", "expert", "gated"]
_LOADS = {"balanced": "balanced", "power_law_1.01": "power_law_1.01"}
_TOKENS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
_BELOW = 0.95  # the touched experts are an expectation
# Nemotron's experts have two matrices instead of three.
_UNGATED = [(2688, 1856), (1024, 2688), (4096, 2688), (2048, 5120), (8192, 5120)]


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        table = source.read(framework, "moe")
        if table is not None:
            yield from _framework(framework, table, _LOADS, chip)
    table = source.read("trtllm", "wideep_moe")
    if table is not None:
        plain = table.filter(pl.col("op_name") == "wideep_moe")
        yield from _framework("wideep", plain, _LOADS, chip)
        balanced = table.filter(
            (pl.col("op_name") == "wideep_moe_eplb")
            & (pl.col("num_slots") == pl.col("num_experts"))
        )
        yield from _framework("wideep", balanced, {"power_law_1.01_eplb": "eplb"}, chip)


def _framework(
    framework: str, table: pl.DataFrame, loads: dict[str, str], chip: Chip
) -> Iterator[Draft]:
    rows = table.filter(pl.col("distribution").is_in(list(loads))).select(
        "seconds",
        "kernel_source",
        dtype=pl.col("moe_dtype").replace_strict(_DTYPES, default=None),
        load=pl.col("distribution").replace_strict(loads),
        hidden="hidden_size",
        intermediate="inter_size",
        top_k="topk",
        experts="num_experts",
        expert_tensor="moe_tp_size",
        expert="moe_ep_size",
        tokens="num_tokens",
        gated=(
            ~pl.concat_str("hidden_size", "inter_size", separator=" ").is_in(
                [f"{hidden} {inter}" for hidden, inter in _UNGATED]
            )
        ).cast(pl.Int32),
    )
    rows = rows.drop_nulls("dtype")
    for (dtype, load), group in rows.group_by(["dtype", "load"], maintain_order=True):
        yield _draft(f"experts.{dtype}.{load}.{framework}", group, str(dtype), str(load), chip)


def _draft(name: str, rows: pl.DataFrame, dtype: str, load: str, chip: Chip) -> Draft:
    rows = rows.sort([*_KEYS, "tokens"])
    least = np.zeros(rows.height)
    for key, group in rows.with_row_index("place").group_by(_KEYS):
        shape = Grouped(*(int(value) for value in key))
        task = experts_work(group["tokens"].to_numpy(), shape, dtype, chip.peak, load)
        least[group["place"].to_numpy()] = seconds(task, chip)
    # Faster than HBM delivers the weights: min-latency kernels up to three times, and "balanced"
    # loads of grouped routing, which reach half of the experts only.
    points = rows.with_columns(roofline=pl.Series(least))
    points = points.filter(pl.col("seconds") >= _BELOW * pl.col("roofline"))
    best = points.group_by([*_KEYS, "tokens"]).agg(pl.col("seconds", "roofline").min())
    return draft(name, best, _KEYS, {"tokens": _TOKENS}, name)
