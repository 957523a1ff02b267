"""Memory that a step needs only while it runs, bytes per GPU."""

from __future__ import annotations

from functools import lru_cache

from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    FeedForward,
    LatentAttention,
    Mixer,
    Recurrent,
)
from racktwin.models.layout import Layout
from racktwin.models.pipeline import stages

BYTES = 2  # activations are bf16


@lru_cache(maxsize=8192)
def widths(
    architecture: Architecture, layout: Layout, split: tuple[int, ...] | None = None
) -> tuple[float, ...]:
    """Elements alive per token of the step on one GPU of every pipeline stage, at the peak.

    The residual stream, its normalised copy and the output of the layer, and the larger of what
    the mixer and the feed-forward make of it.
    """
    stream = 3 * architecture.hidden * architecture.streams
    inner = {
        layer: max(
            _mixer(layer.mixer, layout.tensor),
            _feedforward(layer.feedforward, architecture.hidden, layout),
        )
        for layer in architecture.kinds
    }
    ranges = stages(len(architecture.layers), layout.pipeline, split)
    return tuple(stream + max(inner[architecture.layers[i]] for i in each) for each in ranges)


def _mixer(mixer: Mixer | None, tensor: int) -> float:
    match mixer:
        case Attention():
            heads, kv_heads = -(-mixer.heads // tensor), -(-mixer.kv_heads // tensor)
            query = heads * mixer.head_dim * (2 if mixer.output_gate else 1)
            cached = kv_heads * (mixer.head_dim + mixer.value_width)
            return query + cached + heads * mixer.value_width
        case LatentAttention():
            heads = -(-mixer.heads // tensor)
            query = heads * (mixer.nope_dim + mixer.rope_dim)
            expanded = heads * (mixer.nope_dim + mixer.value_dim)
            return query + mixer.cache_width + mixer.q_rank + expanded + heads * mixer.value_dim
        case Recurrent():
            keys = 2 * mixer.key_heads * mixer.key_dim
            values = 3 * mixer.value_heads * mixer.value_dim
            return (keys + values) / tensor
    return 0.0


def _feedforward(block: FeedForward | None, hidden: int, layout: Layout) -> float:
    match block:
        case Dense():
            return (3 if block.gated else 2) * block.intermediate / layout.tensor
        case Experts():
            matrices = 3 if block.gated else 2
            rows = block.top_k * layout.attention_data / layout.expert
            row = (
                2 * (block.latent or hidden) + matrices * block.intermediate / layout.expert_tensor
            )
            return rows * row + matrices * block.shared / layout.tensor
    return 0.0


def exchanged(architecture: Architecture, layout: Layout) -> float:
    """Elements per token that the buffers of the expert exchange hold on one GPU.

    Each token goes to at most `top_k` ranks; as much comes back. Nothing without attention-DP.
    """
    if layout.attention_data == 1 or layout.expert == 1:
        return 0.0
    routed = [layer.feedforward for layer in architecture.kinds]
    sent = [
        min(each.top_k, layout.expert) * (each.latent or architecture.hidden)
        for each in routed
        if isinstance(each, Experts)
    ]
    return 2.0 * max(sent, default=0)
