"""The operators of one engine step on one GPU: which kernels run, with which fixed shapes.

Fixed shapes (weights, heads, widths) are known from architecture, layout and precision; what
varies from step to step (tokens, sequences, context) is the `rows` an operator is driven by.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from racktwin.models.architecture import Indexer
from racktwin.models.formats import bytes_per_value

Rows = Literal["tokens", "samples", "decode", "prefill"]
ACTIVATION = 2  # bytes of a bf16 activation
# Bytes a dispatched value takes under experts of each format: activations of mxfp4 experts travel
# as mxfp8, those of block-scaled fp8 with one float32 scale for 128 (DeepGEMM, DeepEP).
PAYLOAD = {
    "nvfp4": bytes_per_value("nvfp4"),
    "mxfp4": bytes_per_value("mxfp8"),
    "fp8": bytes_per_value("fp8"),
    "fp8_block": 1 + 4 / 128,
}


class Gemm(msgspec.Struct, frozen=True):
    """rows x k times k x n; `part` is the line of the time breakdown it belongs to."""

    part: str
    n: int
    k: int
    dtype: str
    rows: Rows = "tokens"


class Stream(msgspec.Struct, frozen=True):
    """Elementwise work: norms, residuals, activations. width: bytes moved per token."""

    width: float


class AllReduce(msgspec.Struct, frozen=True):
    """Sum over `ranks` GPUs; width: bytes per token."""

    width: float
    ranks: int


class Gather(msgspec.Struct, frozen=True):
    """All-gather before and reduce-scatter behind experts that every rank of the stage shares.

    width: bytes each of `ranks` GPUs gives per token of its attention-data rank.
    """

    width: float
    ranks: int


class Exchange(msgspec.Struct, frozen=True):
    """All-to-all dispatch of tokens to their experts and combine of the results.

    dispatch, combine: bytes per value; share: part of a rank's tokens each GPU sends.
    """

    hidden: int
    top_k: int
    experts: int
    ranks: int
    dispatch: float
    combine: float
    share: float


class Grouped(msgspec.Struct, frozen=True):
    """The routed experts of one layer; tokens are those of all `fan` attention-data ranks."""

    hidden: int
    intermediate: int
    top_k: int
    experts: int
    expert: int
    expert_tensor: int
    dtype: str
    gated: bool
    fan: int


class Attend(msgspec.Struct, frozen=True, kw_only=True):
    """Grouped-query attention over the cache, heads per GPU."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int
    kv_dtype: str
    indexer: Indexer | None = None


class AttendLatent(msgspec.Struct, frozen=True, kw_only=True):
    """Latent attention over the cache, heads per GPU.

    absorbed: decode folds the up-projections of keys and values into two batched products.
    compress: tokens behind the window that share one cache entry.
    """

    heads: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    kv_dtype: str
    absorbed: bool = True
    indexer: Indexer | None = None
    window: int = 0
    compress: int = 0


class Recur(msgspec.Struct, frozen=True):
    """A linear-attention or state-space scan, heads per GPU."""

    kind: str
    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int


Operator = Gemm | Stream | AllReduce | Gather | Exchange | Grouped | Attend | AttendLatent | Recur


def split(count: int, ranks: int) -> int:
    """Heads (or channels) on each of `ranks` GPUs; replicated when there are fewer than ranks."""
    return max(1, count // ranks)
