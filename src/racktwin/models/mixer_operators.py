"""Operators of a layer's mixer on one GPU: projections, attention or scan.

Shapes are those of `mixer_weights`; heads are split over `tensor`.
"""

from __future__ import annotations

from racktwin.models.architecture import Attention, Indexer, LatentAttention, Mixer, Recurrent
from racktwin.models.operators import (
    ACTIVATION,
    AllReduce,
    Attend,
    AttendLatent,
    Gemm,
    Operator,
    Recur,
    Stream,
    split,
)
from racktwin.models.precision import Precision

PART = "attention projections"
SQUARES = 8  # bytes per token: a float32 sum of squares each of queries and keys


def mixer_operators(mixer: Mixer, hidden: int, tensor: int, precision: Precision) -> list[Operator]:
    """Operators of `mixer`, in the order they run, without norm and all-reduce."""
    match mixer:
        case Attention():
            return _attention(mixer, hidden, tensor, precision)
        case LatentAttention() if mixer.single:
            return _single(mixer, hidden, tensor, precision)
        case LatentAttention():
            return _latent(mixer, hidden, tensor, precision)
        case Recurrent():
            return _recurrent(mixer, hidden, tensor, precision)


def _attention(mixer: Attention, hidden: int, tensor: int, precision: Precision) -> list[Operator]:
    heads, kv_heads = split(mixer.heads, tensor), split(mixer.kv_heads, tensor)
    queries = heads * mixer.head_dim * (2 if mixer.output_gate else 1)
    cached = mixer.head_dim + (0 if mixer.tied_value else mixer.value_width)
    keys = 0 if mixer.shared_cache else kv_heads * cached
    attend = Attend(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=mixer.head_dim,
        value_dim=mixer.value_width,
        window=mixer.window,
        kv_dtype=precision.kv,
        indexer=mixer.indexer,
    )
    norm: list[Operator] = [Stream(2 * ACTIVATION * (queries + keys))] if mixer.qk_norm else []
    if mixer.wide_norm and tensor > 1:
        norm.append(AllReduce(SQUARES, tensor))
    values = heads * mixer.value_width
    gate = [Stream(3 * ACTIVATION * values)] if mixer.output_gate else []
    return [
        Gemm(PART, queries + keys, hidden, precision.attention),
        *norm,
        Stream(2 * ACTIVATION * (queries + keys)),
        *_indexer(mixer.indexer, hidden, hidden, precision, own_keys=True),
        attend,
        *gate,
        Gemm(PART, hidden, values, precision.output),
    ]


def _indexer(
    index: Indexer | None, query: int, hidden: int, precision: Precision, *, own_keys: bool
) -> list[Operator]:
    """query: width the indexer's queries are projected from; a shared choice costs nothing."""
    if index is None or index.shared:
        return []
    narrow = index.heads + (index.head_dim if own_keys else 0)
    return [
        Gemm(PART, index.heads * index.head_dim, query, precision.indexer),
        Gemm(PART, narrow, hidden, precision.indexer),
    ]


def _latent(
    mixer: LatentAttention, hidden: int, tensor: int, precision: Precision
) -> list[Operator]:
    heads, dtype = split(mixer.heads, tensor), precision.attention
    query = heads * (mixer.nope_dim + mixer.rope_dim)
    down = mixer.q_rank + mixer.cache_width
    values = heads * mixer.value_dim
    gate = values if mixer.output_gate else 0
    projections: list[Operator] = (
        [Gemm(PART, down, hidden, dtype), Gemm(PART, query, mixer.q_rank, dtype)]
        if mixer.q_rank
        else [Gemm(PART, query + mixer.cache_width, hidden, dtype)]
    )
    if gate:
        projections.append(Gemm(PART, gate, hidden, dtype))
    expand = heads * (mixer.nope_dim + mixer.value_dim)
    return [
        *projections,
        *_indexer(mixer.indexer, mixer.q_rank or hidden, hidden, precision, own_keys=True),
        Gemm(PART, expand, mixer.kv_rank, dtype, "prefill"),
        _attend(mixer, heads, precision, absorbed=True),
        Gemm(PART, hidden, values, precision.output),
        Stream(2 * ACTIVATION * down),
        Stream(2 * ACTIVATION * (query + gate)),
    ]


def _attend(
    mixer: LatentAttention, heads: int, precision: Precision, *, absorbed: bool
) -> AttendLatent:
    return AttendLatent(
        heads=heads,
        kv_rank=mixer.kv_rank,
        rope_dim=mixer.rope_dim,
        nope_dim=mixer.nope_dim,
        value_dim=mixer.value_dim,
        kv_dtype=precision.kv,
        absorbed=absorbed,
        indexer=mixer.indexer,
        window=mixer.window,
        compress=mixer.compress_ratio,
    )


def _single(
    mixer: LatentAttention, hidden: int, tensor: int, precision: Precision
) -> list[Operator]:
    """DeepSeek-V4: low-rank queries, one key-value vector, grouped low-rank output."""
    heads, width, dtype = split(mixer.heads, tensor), mixer.cache_width, precision.attention
    groups = split(mixer.output_groups, tensor)
    out = heads * width
    operators: list[Operator] = [
        Gemm(PART, mixer.q_rank + width, hidden, dtype),
        Gemm(PART, out, mixer.q_rank, dtype),
    ]
    if mixer.compress_ratio > 1:
        operators.append(Gemm(PART, _compressed(width, mixer.compress_ratio), hidden, dtype))
    if mixer.indexer and not mixer.indexer.shared:
        operators += _indexer(mixer.indexer, mixer.q_rank, hidden, precision, own_keys=False)
        keys = _compressed(mixer.indexer.head_dim, mixer.compress_ratio)
        operators.append(Gemm(PART, keys, hidden, precision.indexer))
    return [
        *operators,
        _attend(mixer, heads, precision, absorbed=False),
        Gemm(PART, mixer.output_rank, out, precision.output),
        Gemm(PART, hidden, groups * mixer.output_rank, precision.output),
        Stream(2 * ACTIVATION * (mixer.q_rank + width + out)),
    ]


def _compressed(width: int, ratio: int) -> int:
    """Columns of the two projections that make one entry of `ratio` tokens (4: two windows)."""
    return 2 * width * (2 if ratio == 4 else 1)


def _recurrent(mixer: Recurrent, hidden: int, tensor: int, precision: Precision) -> list[Operator]:
    keys, values = split(mixer.key_heads, tensor), split(mixer.value_heads, tensor)
    inner = values * mixer.value_dim
    extra = {"gated-delta": 0, "mamba2": values, "kimi-delta": values + mixer.key_dim}
    wide = 2 * keys * mixer.key_dim + 2 * inner + extra.get(mixer.kind, 0)
    dtype = precision.recurrent
    projections = [Gemm(PART, wide, hidden, dtype)]
    if mixer.kind == "gated-delta":
        # Four products as checkpoints store them: the gate, and a beta and a decay per head, in
        # bf16, stand apart (engines merge some of them, release by release).
        narrow = Gemm(PART, values, hidden, "bf16")
        both = Gemm(PART, wide - inner, hidden, dtype), Gemm(PART, inner, hidden, dtype)
        projections = [*both, narrow, narrow]
    return [
        *projections,
        Recur(mixer.kind, hidden, keys, values, mixer.key_dim, mixer.value_dim, mixer.conv),
        Gemm(PART, hidden, inner, dtype),
        Stream(2 * ACTIVATION * wide),
        Stream(3 * ACTIVATION * inner),
    ]
