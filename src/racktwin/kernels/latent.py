"""Multi-head latent attention (DeepSeek-V2 report, arXiv:2405.04434).

Decode runs absorbed: every head attends over the shared latent of kv_rank + rope_dim values, and
two batched products around it (`absorb`) carry queries into and results out of that space.
Prefill expands the latent to full keys and values first (a GEMM that the engine prices).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels.attention import cache_bytes, prefill_pairs
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import fastest
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Tables
from racktwin.models.formats import bytes_per_value


class Latent(NamedTuple):
    """One GPU's share of a latent-attention layer."""

    heads: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    kv_dtype: str


def decode_work(batch: Sizes, context: Sizes, shape: Latent, compute: str) -> Work:
    """One absorbed query token of `batch` sequences over `context` cached latents each."""
    read = np.asarray(context, float)
    key = shape.kv_rank + shape.rope_dim
    flops = 2.0 * shape.heads * (key + shape.kv_rank) * read
    queries = 2.0 * shape.heads * (key + shape.kv_rank) * (read > 0)
    return work(
        batch * flops, batch * (read * key * cache_bytes(shape.kv_dtype) + queries), compute
    )


def prefill_work(batch: Sizes, tokens: Sizes, context: Sizes, shape: Latent, compute: str) -> Work:
    """`tokens` new queries of `batch` sequences behind `context` tokens, keys expanded in bf16."""
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    width = shape.nope_dim + shape.rope_dim + shape.value_dim
    pairs = prefill_pairs(new, cached, 0)
    moved = 2.0 * shape.heads * width * (2 * new + cached * (new > 0))
    return work(batch * 2.0 * shape.heads * width * pairs, batch * moved, compute)


def absorb_work(tokens: Sizes, shape: Latent, dtype: str, compute: str) -> Work:
    """The two batched products of `tokens` queries with the up-projections of each head."""
    count = np.asarray(tokens, float)
    across = shape.nope_dim + shape.value_dim
    weights = shape.heads * shape.kv_rank * across
    moved = 2.0 * count * shape.heads * (across + 2 * shape.kv_rank)
    moved = moved + weights * bytes_per_value(dtype) * (count > 0)
    return work(2.0 * count * weights, moved, compute)


def latent_efficiency(
    tables: Tables | None, phase: str, shape: Latent, frameworks: list[str]
) -> Efficiency:
    """Efficiency over (batch, context) or (batch, tokens); the first framework that has it."""
    narrow = formats.cache_dtype(shape.kv_dtype) == "fp8"
    for framework in frameworks if tables else []:
        assert tables is not None
        table = tables.get(f"mla_{phase}.{framework}")
        row = None if table is None else table.row(narrow)
        if table is not None and row is not None:
            grid = table.grid(row).fixed(0, shape.heads)
            family = "latent decode" if phase == "decode" else "attention prefill"
            name = f"{tables.name} mla {phase} {framework}"
            return Efficiency("measured", name, grid, family=family)
    return generic("attention", f"mla {phase}")


def absorb_efficiency(
    tables: Tables | None, heads: int, dtype: str, frameworks: list[str]
) -> Efficiency:
    """Efficiency over tokens of the fastest measured pair of batched products."""
    name = "fp8" if dtype.startswith("fp8") else "bf16"
    found = [tables.get(f"mla_absorb.{name}.{each}") for each in frameworks] if tables else []
    grids = [table.grid(0).fixed(0, heads) for table in found if table is not None]
    if tables is None or not grids:
        return generic("gemm", "mla absorb")
    what = f"{tables.name} mla absorb {name}"
    return Efficiency("measured", what, fastest(grids), family="latent products")
