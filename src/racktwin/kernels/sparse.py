"""DeepSeek sparse attention (V3.2 report, arXiv:2512.02556): index, select, attend.

A lightning indexer scores every cached token with narrow FP8 products; latent attention then sees
the top_k best. Priced as a whole: what a measured layer takes beyond its projections.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels import latent
from racktwin.kernels.attention import cache_bytes, prefill_pairs
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.latent import Latent
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Tables

_SCALE_BYTES = 4.0  # one fp32 scale a cached index key
_SCORE_BYTES = 4.0  # an fp32 score, written by the product and read by the selection


class Index(NamedTuple):
    """The lightning indexer; its heads are not split over tensor-parallel ranks."""

    heads: int
    head_dim: int
    top_k: int


def index_work(
    batch: Sizes, tokens: Sizes, context: Sizes, index: Index, peaks: Container[str]
) -> Work:
    """Scores of `tokens` causal queries of `batch` sequences behind `context` cached keys.

    None are needed while everything is selected anyway.
    """
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    chosen = (cached + new > index.top_k) & (new > 0)
    pairs = prefill_pairs(new, cached, 0) * chosen
    keys = (cached + new) * (index.head_dim + _SCALE_BYTES) * chosen
    moved = keys + new * index.heads * index.head_dim * chosen + 2 * _SCORE_BYTES * pairs
    flops = 2.0 * index.heads * index.head_dim * pairs
    return work(batch * flops, batch * moved, formats.compute("fp8", peaks))


def decode_work(
    batch: Sizes, context: Sizes, shape: Latent, index: Index, compute: str, peaks: Container[str]
) -> tuple[Work, Work]:
    """One query of `batch` sequences: scores over `context` latents, attention over the best."""
    read = np.minimum(np.asarray(context, float), index.top_k)
    new = np.minimum(context, 1.0)
    scores = index_work(batch, new, context - new, index, peaks)
    return scores, latent.decode_work(batch, read, shape, compute)


def prefill_work(
    batch: Sizes,
    tokens: Sizes,
    context: Sizes,
    shape: Latent,
    index: Index,
    compute: str,
    peaks: Container[str],
) -> tuple[Work, Work]:
    """`tokens` queries of `batch` sequences behind `context` latents, each attending to top_k.

    The FLOPs are those of expanded keys; absorbed kernels do more, which their efficiency holds.
    """
    new, cached = np.asarray(tokens, float), np.asarray(context, float)
    width = shape.nope_dim + shape.rope_dim + shape.value_dim
    pairs = prefill_pairs(new, cached, index.top_k)
    latents = (cached + new) * (shape.kv_rank + shape.rope_dim) * cache_bytes(shape.kv_dtype)
    moved = latents * (new > 0) + 2.0 * new * shape.heads * width
    flops = 2.0 * shape.heads * width * pairs
    attend = work(batch * flops, batch * moved, compute)
    return index_work(batch, new, cached, index, peaks), attend


def sparse_efficiency(
    tables: Tables | None, phase: str, shape: Latent, index: Index, frameworks: list[str]
) -> Efficiency:
    """Efficiency over (batch, context) or (batch, tokens); the first framework that has it."""
    narrow = formats.cache_dtype(shape.kv_dtype) == "fp8"
    for framework in frameworks if tables else []:
        assert tables is not None
        table = tables.get(f"sparse_{phase}.{framework}")
        if table is None:
            continue
        rows = np.flatnonzero(table.keys[:, 0] == narrow)
        if not len(rows):
            continue
        near = int(rows[np.argmin(np.abs(np.log(table.keys[rows, 1] / index.heads)))])
        heads = table.keys[near, 1]
        rule = "" if heads == index.heads else f", {heads} index heads for {index.heads}"
        grid = table.grid(near).fixed(0, shape.heads)
        name = f"{tables.name} sparse {phase} {framework} (layer less projections){rule}"
        return Efficiency("measured", name, grid)
    return generic("attention", f"sparse {phase}")
