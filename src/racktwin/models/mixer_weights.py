"""Weights of attention, latent attention and recurrent layers.

Shapes follow the published modelling code of each family (Hugging Face transformers; DeepSeek's
inference code for latent and compressed attention; NVIDIA's for Nemotron-H).
"""

from __future__ import annotations

from racktwin.models.architecture import Attention, Indexer, LatentAttention, Mixer, Recurrent
from racktwin.models.weight import Weight


def mixer_weights(mixer: Mixer | None, hidden: int) -> list[Weight]:
    """All weights of a mixer but the norm in front of it."""
    match mixer:
        case Attention():
            return _attention(mixer, hidden)
        case LatentAttention(single=True):
            return _single(mixer, hidden)
        case LatentAttention():
            return _latent(mixer, hidden)
        case Recurrent():
            return _recurrent(mixer, hidden)
    return []


def _attention(mixer: Attention, hidden: int) -> list[Weight]:
    query = mixer.heads * mixer.head_dim * (2 if mixer.output_gate else 1)
    out = mixer.heads * mixer.value_width
    bias = 1 if mixer.bias else 0
    weights = [
        Weight("attention", query * (hidden + bias), "tensor", mixer.heads),
        Weight("output", (out + bias) * hidden, "tensor", mixer.heads),
    ]
    if not mixer.shared_cache:
        cached = mixer.head_dim + (0 if mixer.tied_value else mixer.value_width)
        elements = mixer.kv_heads * cached * (hidden + bias)
        weights.append(Weight("attention", elements, "tensor", mixer.kv_heads))
    if mixer.qk_norm:
        heads = mixer.heads + mixer.kv_heads if mixer.wide_norm else 2
        weights.append(Weight("norm", heads * mixer.head_dim))
    if mixer.indexer and not mixer.indexer.shared:
        index = mixer.indexer
        elements = hidden * index.head_dim * (index.heads + 1) + 2 * index.head_dim
        weights.append(Weight("indexer", elements))
    return weights


def _latent(mixer: LatentAttention, hidden: int) -> list[Weight]:
    query = mixer.heads * (mixer.nope_dim + mixer.rope_dim)
    out = mixer.heads * mixer.value_dim
    down = hidden * (mixer.kv_rank + mixer.rope_dim + mixer.q_rank)
    up = query * (mixer.q_rank or hidden)
    expand = mixer.heads * (mixer.nope_dim + mixer.value_dim) * mixer.kv_rank
    weights = [
        Weight("attention", down),
        Weight("attention", up + expand, "tensor", mixer.heads),
        Weight("output", out * hidden, "tensor", mixer.heads),
        Weight("norm", mixer.q_rank + mixer.kv_rank),
    ]
    if mixer.output_gate:
        weights.append(Weight("attention", out * hidden, "tensor", mixer.heads))
    if mixer.indexer and not mixer.indexer.shared:
        weights.append(Weight("indexer", _indexer(mixer.indexer, mixer.q_rank or hidden, hidden)))
    return weights


def _indexer(index: Indexer, query: int, hidden: int) -> int:
    return (
        query * index.heads * index.head_dim
        + hidden * (index.head_dim + index.heads)
        + 2 * index.head_dim
    )


def _compressor(width: int, ratio: int, hidden: int) -> int:
    """Weights that turn `ratio` tokens into one entry; at ratio 4 neighbouring windows overlap."""
    overlap = 2 if ratio == 4 else 1
    return overlap * width * (2 * hidden + ratio) + width


def _single(mixer: LatentAttention, hidden: int) -> list[Weight]:
    """DeepSeek-V4: low-rank queries, one key-value vector, grouped low-rank output."""
    width = mixer.cache_width
    out = mixer.heads * width
    weights = [
        Weight("attention", hidden * (mixer.q_rank + width)),
        Weight("attention", mixer.q_rank * out + mixer.heads, "tensor", mixer.heads),
        Weight("output", out * mixer.output_rank, "tensor", mixer.output_groups),
        Weight(
            "output",
            mixer.output_groups * mixer.output_rank * hidden,
            "tensor",
            mixer.output_groups,
        ),
        Weight("norm", mixer.q_rank + width),
    ]
    if mixer.compress_ratio > 1:
        weights.append(Weight("attention", _compressor(width, mixer.compress_ratio, hidden)))
    if mixer.indexer:
        index = mixer.indexer
        own = mixer.q_rank * index.heads * index.head_dim + hidden * index.heads
        compress = _compressor(index.head_dim, mixer.compress_ratio, hidden)
        weights.append(Weight("indexer", own + compress))
    return weights


def _recurrent(mixer: Recurrent, hidden: int) -> list[Weight]:
    heads, keys = mixer.value_heads, mixer.key_heads * mixer.key_dim
    inner = heads * mixer.value_dim
    convolved = (2 * keys + inner) * mixer.conv
    match mixer.kind:
        case "gated-delta":  # query, key, value, gate; per head: beta, decay
            wide = hidden * (2 * keys + 2 * inner + 2 * heads)
            small = 2 * heads + mixer.value_dim
        case "mamba2":  # gate, value, B, C, step
            wide = hidden * (2 * inner + 2 * keys + heads)
            small = 3 * heads + inner + 2 * keys + inner
        case "kimi-delta":  # query, key, value, gate; low-rank decay; beta
            wide = hidden * (2 * keys + 2 * inner + mixer.key_dim + heads) + mixer.key_dim * keys
            small = heads + keys + mixer.value_dim
        case "lightning":  # query, key, value, gate
            wide = hidden * (2 * keys + 2 * inner)
            small = inner
    return [
        Weight("recurrent", wide + convolved, "tensor", heads),
        Weight("recurrent", inner * hidden, "tensor", heads),
        Weight("norm", small, "tensor", heads),
    ]
