"""Raw tables of measured kernel times (`h100_sxm/gemm.vllm.gemm_perf.parquet`) in one form.

What an engine would run counts: of several kernels for one shape the fastest, for GEMM and experts
of any framework. Times are in s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from racktwin.finding import BadInput, Finding

if TYPE_CHECKING:
    import polars as pl

SYSTEMS = {
    "gb300": "gb300",
    "gb200": "gb200",
    "b300_sxm": "b300",
    "b200_sxm": "b200",
    "h200_sxm": "h200",
    "h100_sxm": "h100",
}
OPERATORS = {
    "gemm": "gemm",
    "generation_attention": "attention_decode",
    "context_attention": "attention_prefill",
    "generation_mla": "mla_decode",
    "context_mla": "mla_prefill",
    "moe": "experts",
    "wideep_moe": "experts",
}
SHAPES = {  # what one call of `Kernels` takes as plain numbers
    "gemm": ("n", "k"),
    "attention_decode": ("heads", "kv_heads", "head_dim", "window"),
    "attention_prefill": ("heads", "kv_heads", "head_dim", "window"),
    "mla_decode": ("heads",),
    "mla_prefill": ("heads",),
    "experts": ("hidden", "intermediate", "top_k", "experts", "expert_tensor", "expert"),
}
FASTEST = ("gemm", "experts")  # operators of which any framework's kernel counts
KEYS = ("chip", "operator", "framework", "dtype")
COLUMNS = (
    *KEYS,
    *dict.fromkeys(name for names in SHAPES.values() for name in names),
    *("batch", "tokens", "seconds"),
)
FORMATS = {
    "bfloat16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4",
    "int4_wo": "int4",
}
RENAMED = {
    "m": "tokens",
    "num_tokens": "tokens",
    "batch_size": "batch",
    "num_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "window_size": "window",
    "hidden_size": "hidden",
    "inter_size": "intermediate",
    "topk": "top_k",
    "num_experts": "experts",
    "moe_tp_size": "expert_tensor",
    "moe_ep_size": "expert",
}
DTYPES = ("gemm_dtype", "kv_cache_dtype", "moe_dtype")
NAME = re.compile(r"\w+\.(\w+)\.(\w+)_perf\.parquet")


def tables(folder: Path) -> Iterator[pl.DataFrame]:
    """One table of `COLUMNS` for each chip and operator; BadInput when the folder holds none."""
    import polars as pl

    if not folder.is_dir():
        raise BadInput([Finding("folder", "is no folder of tables")], str(folder))
    found: dict[tuple[str, str], list[pl.DataFrame]] = {}
    for path in sorted(folder.rglob("*_perf.parquet")):
        chip, match = SYSTEMS.get(path.parent.name), NAME.fullmatch(path.name)
        if chip and match and match[2] in OPERATORS:
            part = _read(path, chip, match[1], OPERATORS[match[2]])
            found.setdefault((chip, OPERATORS[match[2]]), []).append(part)
    if not found:
        text = "holds no SYSTEM/FAMILY.FRAMEWORK.OPERATOR_perf.parquet that is priced"
        raise BadInput([Finding("folder", text)], str(folder))
    for parts in found.values():
        rows = pl.concat(parts)
        keys = [name for name in COLUMNS if name != "seconds"]
        yield rows.group_by(keys, maintain_order=True).agg(pl.col("seconds").min())


def _read(path: Path, chip: str, framework: str, operator: str) -> pl.DataFrame:
    import polars as pl

    try:
        rows = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as fault:
        raise BadInput([Finding(path.name, "is no table that can be read")], str(path)) from fault
    rows = rows.rename({old: new for old, new in RENAMED.items() if old in rows.columns})
    if operator == "experts":
        rows = rows.filter(pl.col("distribution") == "power_law_1.01")
        if "op_name" in rows.columns and "wideep" in path.name:
            rows = rows.filter(pl.col("op_name") == "wideep_moe")
    if {"step", "isl"} <= set(rows.columns):
        rows = rows.with_columns(tokens=pl.col("step") + pl.col("isl"))
    dtype = next((name for name in DTYPES if name in rows.columns), None)
    lacking = {*SHAPES[operator], "tokens", "latency"} - set(rows.columns)
    if dtype is None or lacking:
        names = ", ".join(sorted(lacking)) or "a dtype"
        raise BadInput([Finding(path.name, f"columns are missing: {names}")], str(path))
    rows = rows.filter(pl.col("latency").is_finite() & (pl.col("latency") > 0))
    numbers = [
        (pl.col(name) if name in rows.columns else pl.lit(0)).cast(pl.Int64).alias(name)
        for name in COLUMNS
        if name not in (*KEYS, "seconds")
    ]
    return rows.select(
        pl.lit(chip).alias("chip"),
        pl.lit(operator).alias("operator"),
        pl.lit("any" if operator in FASTEST else framework).alias("framework"),
        pl.col(dtype).replace_strict(FORMATS, default=None).alias("dtype"),
        *numbers,
        (pl.col("latency").cast(pl.Float64) * 1e-3).alias("seconds"),
    ).drop_nulls("dtype")
