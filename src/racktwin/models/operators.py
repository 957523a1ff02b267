"""The operators of one engine step on one GPU: which kernels run, with which fixed shapes.

Fixed shapes (weights, heads, widths) are known from architecture, layout and precision; what
varies from step to step (tokens, sequences, context) is the `rows` an operator is driven by.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    LatentAttention,
    Layer,
    Recurrent,
)
from racktwin.models.layout import Layout
from racktwin.models.precision import Precision

Rows = Literal["tokens", "samples", "decode", "prefill"]
ACTIVATION = 2  # bytes of a bf16 activation
PAYLOAD = {"nvfp4": 0.5625, "mxfp4": 1.03125, "fp8": 1.0, "fp8_block": 1.03125}  # dispatched bytes


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
    """All-gather before and reduce-scatter behind experts that every rank of the stage shares."""

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


class Attend(msgspec.Struct, frozen=True):
    """Grouped-query attention over the cache, heads per GPU."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int
    kv_dtype: str


class AttendLatent(msgspec.Struct, frozen=True):
    """Latent attention over the cache, heads per GPU; `index` > 0 bounds the tokens read."""

    heads: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    kv_dtype: str
    dtype: str
    index: int = 0
    index_heads: int = 0
    index_dim: int = 0
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


def _attention(mixer: Attention, hidden: int, tensor: int, precision: Precision) -> list[Operator]:
    heads, kv_heads = split(mixer.heads, tensor), split(mixer.kv_heads, tensor)
    queries = heads * mixer.head_dim * (2 if mixer.output_gate else 1)
    keys = kv_heads * (mixer.head_dim + mixer.value_width)
    dtype = precision.attention
    return [
        Gemm("attention projections", queries + keys, hidden, dtype),
        Attend(heads, kv_heads, mixer.head_dim, mixer.value_width, mixer.window, precision.kv),
        Gemm("attention projections", hidden, heads * mixer.value_width, precision.output),
        Stream(2 * ACTIVATION * (queries + keys)),
    ]


def _latent(
    mixer: LatentAttention, hidden: int, tensor: int, precision: Precision
) -> list[Operator]:
    heads, dtype = split(mixer.heads, tensor), precision.attention
    query = heads * (mixer.nope_dim + mixer.rope_dim)
    down = mixer.q_rank + mixer.kv_rank + mixer.rope_dim
    index = mixer.indexer
    part = "attention projections"
    projections: list[Operator] = (
        [Gemm(part, down, hidden, dtype), Gemm(part, query, mixer.q_rank, dtype)]
        if mixer.q_rank
        else [Gemm(part, query + mixer.kv_rank + mixer.rope_dim, hidden, dtype)]
    )
    if index and not index.shared:
        projections += [
            Gemm(part, index.heads * index.head_dim, mixer.q_rank or hidden, precision.indexer),
            Gemm(part, index.head_dim + index.heads, hidden, precision.indexer),
        ]
    return [
        *projections,
        Gemm(part, heads * (mixer.nope_dim + mixer.value_dim), mixer.kv_rank, dtype, "prefill"),
        AttendLatent(
            heads=heads,
            kv_rank=mixer.kv_rank,
            rope_dim=mixer.rope_dim,
            nope_dim=mixer.nope_dim,
            value_dim=mixer.value_dim,
            kv_dtype=precision.kv,
            dtype="bf16",
            index=index.top_k if index else 0,
            index_heads=index.heads if index else 0,
            index_dim=index.head_dim if index else 0,
            window=mixer.window,
            compress=mixer.compress_ratio,
        ),
        Gemm(part, hidden, heads * mixer.value_dim, precision.output),
        Stream(2 * ACTIVATION * (down + query)),
    ]


def _recurrent(mixer: Recurrent, hidden: int, tensor: int, precision: Precision) -> list[Operator]:
    keys, values = split(mixer.key_heads, tensor), split(mixer.value_heads, tensor)
    inner = values * mixer.value_dim
    wide = 2 * keys * mixer.key_dim + 2 * inner + (2 if mixer.kind == "gated-delta" else 1) * values
    dtype = precision.recurrent
    return [
        Gemm("attention projections", wide, hidden, dtype),
        Recur(mixer.kind, hidden, keys, values, mixer.key_dim, mixer.value_dim, mixer.conv),
        Gemm("attention projections", hidden, inner, dtype),
        Stream(2 * ACTIVATION * (wide + inner)),
    ]


def _dense(part: str, hidden: int, width: int, gated: bool, dtype: str) -> list[Operator]:
    return [
        Gemm(part, width * (2 if gated else 1), hidden, dtype),
        Gemm(part, hidden, width, dtype),
        Stream(ACTIVATION * width * (3 if gated else 2)),
    ]


def _experts(ffn: Experts, hidden: int, layout: Layout, precision: Precision) -> list[Operator]:
    width = ffn.latent or hidden
    operators: list[Operator] = [Gemm("router", ffn.experts, hidden, "bf16")]
    if ffn.latent:
        operators += [
            Gemm("experts", width, hidden, precision.shared),
            Gemm("experts", hidden, width, precision.shared),
        ]
    if ffn.shared:
        shared = split(ffn.shared, layout.tensor)
        operators += _dense("shared experts", hidden, shared, ffn.gated, precision.shared)
    if layout.attention_data > 1 and layout.expert > 1:
        payload = PAYLOAD.get(precision.experts, float(ACTIVATION))
        share = 1 / layout.tensor
        operators.append(
            Exchange(width, ffn.top_k, ffn.experts, layout.expert, payload, ACTIVATION, share)
        )
    elif layout.attention_data > 1:
        operators.append(Gather(width * ACTIVATION, layout.stage))
    grouped = Grouped(
        width,
        ffn.intermediate,
        ffn.top_k,
        ffn.experts,
        layout.expert,
        layout.expert_tensor,
        precision.experts,
        ffn.gated,
        layout.attention_data,
    )
    return [*operators, grouped]


def layer_operators(
    layer: Layer, hidden: int, layout: Layout, precision: Precision
) -> list[Operator]:
    """Operators of one layer on one GPU, in the order they run."""
    operators: list[Operator] = []
    reduce = AllReduce(hidden * ACTIVATION, layout.tensor)
    norm = Stream(4 * ACTIVATION * hidden)
    if layer.mixer is not None:
        operators.append(norm)
        match layer.mixer:
            case Attention():
                operators += _attention(layer.mixer, hidden, layout.tensor, precision)
            case LatentAttention():
                operators += _latent(layer.mixer, hidden, layout.tensor, precision)
            case Recurrent():
                operators += _recurrent(layer.mixer, hidden, layout.tensor, precision)
        operators += [reduce] if layout.tensor > 1 else []
    if layer.feedforward is not None:
        operators.append(norm)
        match layer.feedforward:
            case Dense():
                width = split(layer.feedforward.intermediate, layout.tensor)
                gated = layer.feedforward.gated
                operators += _dense("dense feed-forward", hidden, width, gated, precision.dense)
            case Experts():
                operators += _experts(layer.feedforward, hidden, layout, precision)
        operators += [reduce] if layout.tensor > 1 else []
    return operators


def step_operators(
    architecture: Architecture, layout: Layout, precision: Precision
) -> Counter[Operator]:
    """Operators of one forward pass through layers and head, with how often each runs."""
    total: Counter[Operator] = Counter()
    for layer, count in architecture.kinds.items():
        for operator in layer_operators(layer, architecture.hidden, layout, precision):
            total[operator] += count
    total[head_operator(architecture, layout, precision)] += 1
    return total


def draft_operators(
    architecture: Architecture, layout: Layout, precision: Precision
) -> Counter[Operator]:
    """Operators of one multi-token-prediction draft: its layer, its fusing projection, the head."""
    total: Counter[Operator] = Counter()
    for layer in architecture.mtp[:1]:
        for operator in layer_operators(layer, architecture.hidden, layout, precision):
            total[operator] += 1
    hidden = architecture.hidden
    total[Gemm("drafts", hidden, 2 * hidden, "bf16")] += 1
    total[head_operator(architecture, layout, precision)] += 1
    return total


def head_operator(architecture: Architecture, layout: Layout, precision: Precision) -> Gemm:
    """The output projection to the vocabulary, on the sampled positions only."""
    vocab = -(-architecture.vocab // layout.tensor)
    return Gemm("head", vocab, architecture.hidden, precision.head, "samples")
