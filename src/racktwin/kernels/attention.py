"""Grouped-query attention of one GPU's heads: prefill, decode, sliding windows, encoders.

A model's heads per GPU need not be among those measured. Decode then takes the measured pair with
the nearest number of queries per KV head, at the batch that reads as many KV heads; prefill the
measured pair at the batch that has as many query heads.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, shifted, truncated
from racktwin.kernels.roofline import Array, Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value

Phase = Literal["decode", "prefill"]


class Heads(NamedTuple):
    """One GPU's share of an attention layer; window 0 sees everything."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int
    kv_dtype: str


def cache_bytes(kv_dtype: str) -> float:
    """Bytes of one cached value."""
    return bytes_per_value(formats.cache_dtype(kv_dtype) if "_ds_" in kv_dtype else kv_dtype)


def decode_work(batch: Sizes, context: Sizes, shape: Heads, compute: str) -> Work:
    """One query token of `batch` sequences over `context` cached tokens each."""
    read = np.asarray(context, float)
    if shape.window:
        read = np.minimum(read, shape.window)
    width = shape.head_dim + shape.value_dim
    cached = read * shape.kv_heads * width * cache_bytes(shape.kv_dtype)
    flops = 2.0 * shape.heads * width * read
    return work(batch * flops, batch * (cached + 2 * shape.heads * width * (read > 0)), compute)


def prefill_pairs(tokens: Sizes, context: Sizes, window: int) -> Array:
    """Query-key pairs of `tokens` causal queries behind `context` tokens, per sequence."""
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    if not window:
        return np.asarray(new * (cached + new / 2))
    growing = np.clip(window - cached, 0, new)
    return np.asarray(growing * (cached + growing / 2) + (new - growing) * window)


def prefill_work(batch: Sizes, tokens: Sizes, context: Sizes, shape: Heads, compute: str) -> Work:
    """`tokens` new queries of `batch` sequences, each behind `context` cached tokens."""
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    width = shape.head_dim + shape.value_dim
    read = np.minimum(cached, shape.window) if shape.window else cached
    pairs = prefill_pairs(new, cached, shape.window)
    kept = (read + new) * (new > 0) * shape.kv_heads * width * cache_bytes(shape.kv_dtype)
    moved = kept + 2.0 * new * shape.heads * width
    return work(batch * 2.0 * shape.heads * width * pairs, batch * moved, compute)


def encoder_work(batch: Sizes, tokens: Sizes, heads: int, head_dim: int) -> Work:
    """`tokens` image patches of `batch` images, each attending to all of its image."""
    count = np.asarray(tokens, float)
    flops = 4.0 * heads * head_dim * count**2
    return work(batch * flops, batch * 8.0 * heads * head_dim * count, "bf16")


def equal_length(tokens: Sizes, context: Sizes, window: int = 0) -> Array:
    """The prompt without a cached prefix that has as many query-key pairs, tokens."""
    pairs = prefill_pairs(tokens, context, window)
    full = np.sqrt(2 * pairs)
    return full if not window else np.where(full <= window, full, pairs / window + window / 2)


def attention_efficiency(
    tables: Tables | None, phase: Phase, shape: Heads, frameworks: list[str]
) -> Efficiency:
    """Efficiency over (batch, context) or (batch, tokens); the first framework that has it."""
    what = f"attention {phase} head {shape.head_dim}"
    for framework in frameworks if tables else []:
        assert tables is not None
        table = tables.get(f"attention_{phase}.{framework}")
        found = None if table is None else nearest(table, phase, shape)
        if found:
            grid, rule = found
            named = f"{tables.name} {what} {framework}{rule}"
            return Efficiency("measured", named, grid, family=f"attention {phase}")
    return generic("attention", what)


def nearest(table: Table, phase: Phase, shape: Heads) -> tuple[Grid, str] | None:
    """The grid that fits `shape` best, in terms of the shape's own batch, and what was bent."""
    narrow = formats.cache_dtype(shape.kv_dtype) == "fp8"
    keys = table.keys
    same = (keys[:, 0] == narrow) & (keys[:, 1] == shape.head_dim)
    windowed = same & (keys[:, 2] == shape.window)
    rows = np.flatnonzero(windowed if windowed.any() else same & (keys[:, 2] == 0))
    if not len(rows):
        return None
    heads, kv_heads = keys[rows, 3].astype(float), keys[rows, 4].astype(float)
    ratio = np.abs(np.log(heads / kv_heads * shape.kv_heads / shape.heads))
    size = np.abs(np.log(heads / shape.heads))
    best = int(np.argmin(4 * ratio + size if phase == "decode" else ratio + 2 * size))
    grid, rule = table.grid(int(rows[best])), ""
    per = kv_heads[best] / shape.kv_heads if phase == "decode" else heads[best] / shape.heads
    if ratio[best] > 1e-9 or size[best] > 1e-9:
        rule = f" heads {heads[best]:.0f}/{kv_heads[best]:.0f} for {shape.heads}/{shape.kv_heads}"
        grid = shifted(grid, 0, per)
    if shape.window and not windowed.any():
        rule += f" full attention cut at window {shape.window}"
        grid = truncated(grid, 1, shape.window)
    return grid, rule


def encoder_efficiency(
    tables: Tables | None, heads: int, head_dim: int, frameworks: list[str]
) -> Efficiency:
    """Efficiency over (batch, tokens) of the nearest head size, at as many heads in all."""
    for framework in frameworks if tables else []:
        assert tables is not None
        table = tables.get(f"encoder.{framework}")
        if table is None:
            continue
        dims, counts = table.keys.T.astype(float)
        far = 2 * np.abs(np.log(dims / head_dim)) + np.abs(np.log(counts / heads))
        row = int(np.argmin(far))
        rule = "" if far[row] < 1e-9 else f" heads {counts[row]:.0f}x{dims[row]:.0f}"
        rule += "" if not rule else f" for {heads}x{head_dim}"
        name = f"{tables.name} encoder attention {framework}{rule}"
        grid = shifted(table.grid(row), 0, counts[row] / heads)
        return Efficiency("measured", name, grid, family="encoder")
    return generic("attention", "encoder attention")
