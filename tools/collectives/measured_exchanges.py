"""Published tables of token exchanges in the columns of the published collectives."""

from __future__ import annotations

from pathlib import Path

import polars as pl

KEYS = ("kernel_source", "moe_dtype", "num_tokens", "hidden_size", "topk", "num_experts")
EP = "moe_ep_size"
PAYLOAD = {"bfloat16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}
SOURCE = "ai-dynamo/aiconfigurator@095f58a5"


def rows(folder: Path) -> pl.DataFrame:
    """Dispatch and combine of two files in `folder`, one row a measurement; times in us."""
    return pl.concat([_trtllm(folder), _deepep(folder)])


def _trtllm(folder: Path) -> pl.DataFrame:
    """Two-sided dispatch comes with what prepares it; combine is bf16 unless it says otherwise."""
    table = pl.read_csv(folder / "alltoall_gb200_trtllm_aiconfigurator.csv")
    low = pl.col("op_name").str.ends_with("low_precision")
    phase = pl.when(pl.col("op_name").str.contains("combine")).then(pl.lit("combine"))
    table = table.with_columns(
        phase.otherwise(pl.lit("dispatch")).alias("phase"),
        pl.when(low).then(pl.lit(1)).otherwise(0).alias("low"),
    )
    merged = table.group_by([*KEYS, EP, "phase", "low"], maintain_order=True).agg(
        pl.col("latency").sum(), pl.len()
    )
    two = pl.col("kernel_source") == "NVLinkTwoSided"
    whole = pl.when(two & (pl.col("phase") == "dispatch")).then(2).otherwise(1)
    dtype = pl.col("moe_dtype").replace_strict(PAYLOAD)
    sent = pl.when(pl.col("phase") == "dispatch").then(dtype)
    payload = sent.when(pl.col("low") == 1).then(pl.lit("nvfp4")).otherwise(pl.lit("bf16"))
    sides = pl.when(two).then(pl.lit("two-sided")).otherwise(pl.lit("one-sided"))
    return merged.filter(pl.col("len") == whole).select(
        pl.lit("GB200").alias("gpu"),
        pl.col(EP).alias("n_gpus"),
        pl.format("moe_{}", "phase").alias("op"),
        payload.alias("dtype"),
        _size("num_tokens", "topk"),
        (pl.col("latency") * 1e3).round_sig_figs(6).alias("latency_us"),
        pl.format("NVLink {} (TensorRT-LLM), tokens spread evenly", sides).alias("transport"),
        pl.lit(SOURCE).alias("source"),
    )


def _deepep(folder: Path) -> pl.DataFrame:
    table = pl.read_csv(folder / "deepep_gb300_ll_aiconfigurator.csv")
    parts = [
        table.select(
            pl.lit("GB300").alias("gpu"),
            pl.lit(4, pl.Int64).alias("n_gpus"),
            pl.lit(f"moe_{phase}").alias("op"),
            pl.lit(payload).alias("dtype"),
            _size("num_token", "num_topk"),
            pl.col(f"{phase}_avg_t_us").cast(pl.Float64).round_sig_figs(6).alias("latency_us"),
            pl.lit("DeepEP low-latency (SGLang)").alias("transport"),
            pl.lit(SOURCE).alias("source"),
        )
        for phase, payload in (("dispatch", "fp8"), ("combine", "bf16"))
    ]
    return pl.concat(parts)


def _size(tokens: str, top_k: str) -> pl.Expr:
    text = pl.format("{} tokens/rank x {} top{} of {}", tokens, "hidden_size", top_k, "num_experts")
    return text.alias("bytes_or_tokens")
