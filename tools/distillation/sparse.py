"""DeepSeek sparse attention, as what a whole measured layer takes beyond its projections.

The tables hold attention layers with their projections. Those depend on the tokens only, so:
decode   layer(batch, context) - layer(batch, short context) + dense attention(batch, short);
prefill  layer(batch, tokens) - layer(as many tokens in prompts of 1,024) + their dense attention.
Up to the tokens that would be selected anyway, a layer runs dense attention.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import every
from racktwin.hardware import Chip
from racktwin.kernels import dtype as formats
from racktwin.kernels.latent import Latent
from racktwin.kernels.roofline import seconds
from racktwin.kernels.sparse import Index, decode_work, prefill_work

_LAYER = ["index_heads", "gemm_type", "fp8", "heads", "batch"]
_DENSE = ["fp8", "heads", "batch"]
_TOP_K, _SHORT, _PROMPT = 2048, 256, 1024
_INDEX_HEADS = {"DeepseekV32ForCausalLM": 64, "GlmMoeDsaForCausalLM": 32}
_DEEPSEEK = {"kv_rank": 512, "rope_dim": 64, "nope_dim": 128, "value_dim": 128}


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        for phase, operator in (("decode", "generation"), ("prefill", "context")):
            layer = source.read(framework, f"dsa_{operator}_module")
            dense = source.read(framework, f"{operator}_mla")
            if dense is None:  # vLLM's was not measured; the kernels are alike
                dense = source.read("trtllm", f"{operator}_mla")
            if layer is not None and dense is not None:
                beyond = _decode if phase == "decode" else _prefill
                points = beyond(_layers(layer), _dense(dense))
                yield _draft(f"sparse_{phase}.{framework}", points, phase, chip)


def _layers(table: pl.DataFrame) -> pl.DataFrame:
    if "op_name" in table.columns:
        table = table.filter(~pl.col("op_name").str.ends_with("skip_indexer"))
    return table.select(
        "seconds",
        "gemm_type",
        "step",
        index_heads=pl.col("architecture").replace_strict(_INDEX_HEADS),
        fp8=(pl.col("kv_cache_dtype") == "fp8").cast(pl.Int32),
        heads="num_heads",
        batch="batch_size",
        length=pl.col("isl"),
    )


def _dense(table: pl.DataFrame) -> pl.DataFrame:
    rows = table.select(
        "seconds",
        fp8=(pl.col("kv_cache_dtype") == "fp8").cast(pl.Int32),
        heads="num_heads",
        batch="batch_size",
        length=pl.col("step") + pl.col("isl"),
    )
    return rows.group_by([*_DENSE, "length"]).agg(dense=pl.col("seconds").min())


def _decode(layers: pl.DataFrame, dense: pl.DataFrame) -> pl.DataFrame:
    rows = layers.with_columns(length=pl.col("step") + 1)
    short = rows.filter(pl.col("length") <= _SHORT).group_by(_LAYER)
    rest = dense.filter(pl.col("length") == _SHORT).drop("length")
    rows = rows.join(short.agg(short=pl.col("seconds").median()), on=_LAYER)
    return _median(rows.join(rest, on=_DENSE))


def _prefill(layers: pl.DataFrame, dense: pl.DataFrame) -> pl.DataFrame:
    rows = layers.filter(pl.col("step") == 0)
    short = rows.filter(pl.col("length") == _PROMPT)
    short = short.join(dense, on=[*_DENSE, "length"])
    short = short.with_columns(tokens=pl.col("batch") * _PROMPT)
    key = [each for each in _LAYER if each != "batch"] + ["tokens"]
    long = rows.filter(pl.col("length") > _TOP_K)
    long = long.with_columns(tokens=pl.col("batch") * pl.col("length"))
    few = short.group_by(key).agg(short=pl.col("seconds").median(), dense=pl.col("dense").median())
    beyond = _median(long.join(few, on=key))
    known = rows.select("index_heads").unique()
    brief = dense.filter(pl.col("length") <= _TOP_K).join(known, how="cross")
    columns = ["index_heads", *_DENSE, "length", "seconds"]
    return pl.concat([beyond.select(columns), brief.rename({"dense": "seconds"}).select(columns)])


def _median(rows: pl.DataFrame) -> pl.DataFrame:
    """Over weight formats: what remains does not depend on them."""
    beyond = rows.with_columns(seconds=pl.col("seconds") - pl.col("short") + pl.col("dense"))
    beyond = beyond.filter(pl.col("seconds") > 0)
    return beyond.group_by(["index_heads", *_DENSE, "length"]).agg(pl.col("seconds").median())


def _draft(name: str, rows: pl.DataFrame, phase: str, chip: Chip) -> Draft:
    keys = ["fp8", "index_heads"]
    rows = rows.sort([*keys, "heads", "batch", "length"])
    least = np.zeros(rows.height)
    for key, group in rows.with_row_index("place").group_by([*keys, "heads"]):
        fp8, index_heads, heads = (int(value) for value in key)
        index = Index(index_heads, 128, _TOP_K)
        kv_dtype = "fp8" if fp8 else "bf16"
        shape = Latent(heads=heads, kv_dtype=kv_dtype, **_DEEPSEEK)
        compute = formats.compute(kv_dtype, chip.peak)
        batch, length = group["batch"].to_numpy(), group["length"].to_numpy()
        tasks = (
            decode_work(batch, length, shape, index, compute, chip.peak)
            if phase == "decode"
            else prefill_work(batch, length, 0, shape, index, compute, chip.peak)
        )
        least[group["place"].to_numpy()] = sum(seconds(task, chip) for task in tasks)
    points = rows.rename({"length": "tokens" if phase == "prefill" else "context"})
    points = points.with_columns(roofline=pl.Series(least))
    axis = "tokens" if phase == "prefill" else "context"
    lengths = [float(size) for size in points[axis].unique().sort() if _near_power(size)]
    axes = {"heads": every(points["heads"], 1), "batch": every(points["batch"], 2), axis: lengths}
    return draft(name, points, keys, axes, name)


def _near_power(size: int) -> bool:
    """A power of two, or one more (decode counts the new token)."""
    return size & (size - 1) == 0 or (size - 1) & (size - 2) == 0
