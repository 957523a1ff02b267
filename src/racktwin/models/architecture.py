"""What a model is: one `Layer` after another, each a mixer and a feed-forward.

Plain validated records; `config_reader` builds them from any Hugging Face config.json.
All sizes are counts of elements, not bytes.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec


class Attention(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Grouped-query attention (multi-head and multi-query are its ends).

    window: tokens a query sees (sliding window or local chunk); 0 means all.
    output_gate: a gate as wide as the query projection multiplies the output (Qwen3.5).
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    window: int = 0
    bias: bool = False
    qk_norm: bool = False
    output_gate: bool = False

    @property
    def value_width(self) -> int:
        """Size of one value head, elements."""
        return self.value_dim or self.head_dim


class Indexer(msgspec.Struct, frozen=True, kw_only=True):
    """The lightning indexer of DeepSeek sparse attention: which `top_k` tokens are attended to."""

    heads: int
    head_dim: int
    top_k: int


class LatentAttention(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Multi-head latent attention (DeepSeek): the cache holds kv_rank + rope_dim values a token."""

    heads: int
    q_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    indexer: Indexer | None = None
    compress_ratio: int = 0
    window: int = 0


class Recurrent(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Linear attention or a state-space layer: a fixed state per sequence instead of a cache."""

    kind: Literal["gated-delta", "mamba2", "lightning", "kimi-delta"]
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int = 4


class Dense(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A dense feed-forward; `gated` has three matrices (SwiGLU), ungated two."""

    intermediate: int
    gated: bool = True


class Experts(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A mixture of experts with optional shared experts (their total width is `shared`).

    latent: width the routed experts work in when it is not the hidden size; 0 means hidden.
    """

    experts: int
    top_k: int
    intermediate: int
    shared: int = 0
    gated: bool = True
    gate: Literal["softmax", "sigmoid"] = "softmax"
    latent: int = 0


Mixer = Attention | LatentAttention | Recurrent
FeedForward = Dense | Experts


class Layer(msgspec.Struct, frozen=True):
    """One residual block; either half may be absent (hybrids interleave them)."""

    mixer: Mixer | None
    feedforward: FeedForward | None


class Vision(msgspec.Struct, frozen=True, kw_only=True):
    """The image encoder in front of a vision-language model."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    patch: int
    merge: int = 1


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """A whole model. `mtp` are the multi-token-prediction layers behind the last one."""

    name: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    context: int
    tied: bool = False
    mtp: tuple[Layer, ...] = ()
    vision: Vision | None = None

    @property
    def kinds(self) -> Counter[Layer]:
        """How often each distinct layer stands in the model."""
        return Counter(self.layers)
