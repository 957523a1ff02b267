"""The weight matrices of a model: their sizes, and how tensor and expert parallelism cut them.

Shapes follow the published modelling code of each family (Hugging Face transformers; DeepSeek's
inference code for latent and compressed attention; NVIDIA's for Nemotron-H).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    Indexer,
    LatentAttention,
    Layer,
    Recurrent,
    Vision,
)
from racktwin.models.precision import Part


class Weight(msgspec.Struct, frozen=True):
    """Matrices of one part that are cut alike.

    elements: weights in all of them. cut: 'tensor', 'experts' or 'none' (a copy on every rank).
    units: what cannot be cut further (heads, experts, channels); 0 means elements.
    """

    part: Part
    elements: int
    cut: Literal["tensor", "experts", "none"] = "none"
    units: int = 0

    def share(self, tensor: int, expert: int, expert_tensor: int, spare: int = 0) -> float:
        """Elements on the fullest GPU. spare: redundant expert slots of the layer."""
        if self.cut == "none":
            return self.elements
        if self.cut == "experts":
            slots = -(-(self.units + spare) // expert)
            return self.elements / self.units * slots / expert_tensor
        if not self.units:
            return self.elements / tensor
        return self.elements / self.units * -(-self.units // tensor)


@lru_cache(maxsize=4096)
def layer_weights(layer: Layer, hidden: int, streams: int = 1) -> tuple[Weight, ...]:
    """All weights of one layer, norms included."""
    weights: list[Weight] = []
    match layer.mixer:
        case Attention():
            weights += _attention(layer.mixer, hidden)
        case LatentAttention():
            weights += (
                _single(layer.mixer, hidden) if layer.mixer.single else _latent(layer.mixer, hidden)
            )
        case Recurrent():
            weights += _recurrent(layer.mixer, hidden)
    match layer.feedforward:
        case Dense():
            weights.append(
                _dense("dense", hidden, layer.feedforward.intermediate, layer.feedforward.gated)
            )
        case Experts():
            weights += _experts(layer.feedforward, hidden)
    halves = (layer.mixer is not None) + (layer.feedforward is not None)
    mixing = halves * _stream_mixing(hidden, streams) if streams > 1 else 0
    weights.append(Weight("norm", halves * hidden + mixing))
    return tuple(weights)


def _stream_mixing(hidden: int, streams: int) -> int:
    """Weights of one hyper-connection: a map from all streams to (2 + streams) x streams."""
    return (2 + streams) * streams * (streams * hidden + 1)


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
        weights.append(Weight("norm", 2 * mixer.head_dim))
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


def _dense(part: Part, hidden: int, intermediate: int, gated: bool) -> Weight:
    return Weight(part, (3 if gated else 2) * hidden * intermediate, "tensor", intermediate)


def _experts(experts: Experts, hidden: int) -> list[Weight]:
    matrices = 3 if experts.gated else 2
    width = experts.latent or hidden
    routed = matrices * width * experts.intermediate
    if experts.bias:
        routed += (matrices - 1) * experts.intermediate + width
    weights = [
        Weight("router", experts.experts * (hidden + 1)),
        Weight("experts", experts.experts * routed, "experts", experts.experts),
    ]
    if experts.latent:
        weights.append(Weight("shared", 2 * hidden * width))
    if experts.shared:
        weights.append(_dense("shared", hidden, experts.shared, experts.gated))
    return weights


def outer_weights(architecture: Architecture) -> tuple[Weight, Weight, Weight]:
    """Input embedding, output head and final norm. A tied head has no weights of its own."""
    matrix = architecture.vocab * architecture.hidden
    return (
        Weight("embedding", matrix, "tensor", architecture.vocab),
        Weight("head", 0 if architecture.tied else matrix, "tensor", architecture.vocab),
        Weight("norm", architecture.hidden),
    )


def draft_weights(architecture: Architecture) -> tuple[Weight, ...]:
    """Weights of the multi-token-prediction layers; each fuses two hidden vectors into one."""
    weights: list[Weight] = []
    hidden = architecture.hidden
    for layer in architecture.mtp:
        weights += layer_weights(layer, hidden, architecture.streams)
        weights.append(Weight("mtp", 2 * hidden * hidden + 3 * hidden))
    return tuple(weights)


def vision_weights(vision: Vision, out: int) -> Weight:
    """All weights of the image encoder and its projections to width `out` (biases included)."""
    hidden, width = vision.hidden, vision.attention_width or vision.hidden
    feed = (3 if vision.gated else 2) * hidden * vision.intermediate
    block = 4 * hidden * width + 3 * width + hidden + feed + vision.intermediate + 5 * hidden
    patches = 3 * vision.frames * vision.patch**2 * hidden
    merged = hidden * vision.merge**2
    bridge = vision.mergers * merged * (merged + out) if vision.mergers else hidden * out
    elements = vision.layers * block + patches + vision.positions * hidden + bridge
    return Weight("vision", elements)
