"""The measured watts of operators as one table: what each did, how long it took, what it drew.

Rows without a reading (0 W, or no limit noted) are missing values and are left out. `shape` names
what has to be left out together when a fit is judged on shapes it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from distillation.experts import _DTYPES, _LOADS, _UNGATED
from distillation.source import Source
from racktwin.hardware import Chip
from racktwin.kernels import attention, gemm, latent
from racktwin.kernels import dtype as formats
from racktwin.kernels.experts import experts_work
from racktwin.kernels.grouped import Grouped
from racktwin.kernels.roofline import Work, work

COLUMNS = ("family", "dtype", "shape", "flops", "bytes", "seconds", "watts")
GEMM = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
DEEPSEEK = {"kv_rank": 512, "rope_dim": 64, "nope_dim": 128, "value_dim": 128}
VALUE_DIM = {192: 128}
Reader = Callable[[Source, Chip], Iterator[pl.DataFrame]]


def rows(source: Source, chip: Chip) -> pl.DataFrame:
    """Every operator that was measured alone."""
    readers: list[Reader] = [_gemm, _experts, _attention, _encoder, _latent, _absorb, _stream]
    return pl.concat([part for read in readers for part in read(source, chip)])


def _read(source: Source, operator: str) -> pl.DataFrame:
    table = source.read("trtllm", operator)
    assert table is not None, operator
    return table.filter((pl.col("power") > 0) & (pl.col("power_limit") > 0))


def _frame(table: pl.DataFrame, family: str, task: Work, shape: pl.Expr | str) -> pl.DataFrame:
    named = pl.col(shape) if isinstance(shape, str) else shape
    made = table.select(
        pl.lit(family).alias("family"),
        pl.lit(task.dtype).alias("dtype"),
        named.cast(pl.String).alias("shape"),
        pl.Series("flops", np.asarray(task.flops, float)),
        pl.Series("bytes", np.asarray(task.bytes, float)),
        "seconds",
        pl.col("power").cast(pl.Float64).alias("watts"),
    )
    return made.filter((pl.col("bytes") > 0) & (pl.col("watts") > 0))


def _key(*names: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).cast(pl.String) for name in names], separator=" ")


def _gemm(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    for (raw,), group in _read(source, "gemm").group_by(["gemm_dtype"], maintain_order=True):
        m, n, k = (group[name].to_numpy() for name in ("m", "n", "k"))
        task = gemm.gemm_work(m, n, k, GEMM[str(raw)], chip.peak)
        yield _frame(group, f"gemm {GEMM[str(raw)]}", task, _key("n", "k"))


def _experts(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    table = _read(source, "moe").filter(pl.col("distribution").is_in(list(_LOADS)))
    ungated = [f"{hidden} {inter}" for hidden, inter in _UNGATED]
    keys = ["moe_dtype", "distribution", "hidden_size", "inter_size", "topk", "num_experts",
            "moe_tp_size", "moe_ep_size"]  # fmt: skip
    for key, group in table.group_by(keys, maintain_order=True):
        raw, load, hidden, inter, top, experts, tensor, expert = key
        gated = int(f"{hidden} {inter}" not in ungated)
        shape = Grouped(*(int(v) for v in (hidden, inter, top, experts, tensor, expert, gated)))
        dtype = _DTYPES.get(str(raw))
        if dtype is None:
            continue
        tokens = group["num_tokens"].to_numpy()
        task = experts_work(tokens, shape, dtype, chip.peak, _LOADS[str(load)])
        name = f"experts {dtype}"
        yield _frame(group, name, task, _key("hidden_size", "inter_size", "topk", "num_experts"))


def _attention(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    keys = ["kv_cache_dtype", "head_dim", "window_size", "num_heads", "num_key_value_heads"]
    for phase, operator in (("decode", "generation"), ("prefill", "context")):
        table = _read(source, f"{operator}_attention")
        for key, group in table.group_by(keys, maintain_order=True):
            kv_dtype = "fp8" if key[0] == "fp8" else "bf16"
            dim, window, heads, kv_heads = (int(value) for value in key[1:])
            shape = attention.Heads(heads, kv_heads, dim, VALUE_DIM.get(dim, dim), window, kv_dtype)
            compute = formats.compute(kv_dtype, chip.peak)
            batch, size = group["batch_size"].to_numpy(), (group["step"] + group["isl"]).to_numpy()
            task = (
                attention.decode_work(batch, size, shape, compute)
                if phase == "decode"
                else attention.prefill_work(batch, size, 0, shape, compute)
            )
            yield _frame(group, f"attention {phase}", task, _key(*keys[1:]))


def _encoder(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    table = _read(source, "encoder_attention")
    for (dim, heads), group in table.group_by(["head_dim", "num_heads"], maintain_order=True):
        batch, tokens = group["batch_size"].to_numpy(), group["isl"].to_numpy()
        task = attention.encoder_work(batch, tokens, int(heads), int(dim))
        yield _frame(group, "encoder", task, _key("head_dim", "num_heads"))


def _latent(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    table = _read(source, "generation_mla")
    for (raw, heads), group in table.group_by(["kv_cache_dtype", "num_heads"], maintain_order=True):
        kv_dtype = "fp8" if raw == "fp8" else "bf16"
        shape = latent.Latent(heads=int(heads), kv_dtype=kv_dtype, **DEEPSEEK)
        batch, size = group["batch_size"].to_numpy(), (group["step"] + group["isl"]).to_numpy()
        task = latent.decode_work(batch, size, shape, formats.compute(kv_dtype, chip.peak))
        yield _frame(group, "latent decode", task, _key("num_heads", "batch_size"))


def _absorb(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    table = _read(source, "mla_bmm")
    for (raw, heads), group in table.group_by(["bmm_dtype", "num_heads"], maintain_order=True):
        dtype = "fp8" if raw == "fp8" else "bf16"
        shape = latent.Latent(heads=int(heads), kv_dtype="bf16", **DEEPSEEK)
        both = latent.absorb_work(
            group["num_tokens"].to_numpy(), shape, dtype, formats.compute(dtype, chip.peak)
        )
        half = Work(both.flops / 2, both.bytes / 2, both.dtype)
        yield _frame(group, "latent products", half, "num_heads")


def _stream(source: Source, chip: Chip) -> Iterator[pl.DataFrame]:
    for raw, moved in (("scale_matrix", 3), ("computescale", 2)):
        table = _read(source, raw)
        size = moved * table["m"].to_numpy() * table["k"].to_numpy()
        yield _frame(table, "elementwise", work(0.0, size, "bf16"), "k")
