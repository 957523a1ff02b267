"""What a model is: one `Layer` after another, each a mixer and a feed-forward.

Plain validated records; `config_reader` builds them from any Hugging Face config.json.
All sizes are counts of elements, not bytes.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec


class Indexer(msgspec.Struct, frozen=True, kw_only=True):
    """The lightning indexer of DeepSeek sparse attention: which `top_k` tokens are attended to.

    shared: the layer reuses the choice of an earlier layer: no weights, no cache (GLM-5.2).
    """

    heads: int
    head_dim: int
    top_k: int
    shared: bool = False


class Attention(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Grouped-query attention (multi-head and multi-query are its ends).

    window: tokens a query sees (sliding window or local chunk); 0 means all.
    wide_norm: norms of queries and keys span all heads: ranks add up their squares (MiniMax-M2).
    output_gate: a gate as wide as the query projection multiplies the output (Qwen3.5).
    tied_value: values are the keys, there is no value projection (Gemma 4); both are cached.
    shared_cache: reads the cache of an earlier layer and keeps none (Gemma 3n).
    indexer: chooses the tokens attended to (MiniMax-M3 block-sparse attention).
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    window: int = 0
    bias: bool = False
    qk_norm: bool = False
    wide_norm: bool = False
    output_gate: bool = False
    tied_value: bool = False
    shared_cache: bool = False
    indexer: Indexer | None = None

    @property
    def value_width(self) -> int:
        """Size of one value head, elements."""
        return self.value_dim or self.head_dim


class LatentAttention(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Multi-head latent attention (DeepSeek): the cache holds kv_rank + rope_dim values a token.

    q_rank: 0 means one plain query projection.
    output_rank, output_groups: low-rank grouped output projection (DeepSeek-V4); 0 means plain.
    compress_ratio: > 1 keeps one entry for that many tokens besides the `window` newest
    (DeepSeek-V4); 1 keeps all; 0 with a window keeps the window only.
    single: one latent vector serves as key and value of all heads, without up-projection (V4).
    """

    heads: int
    q_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    indexer: Indexer | None = None
    compress_ratio: int = 0
    window: int = 0
    single: bool = False
    output_rank: int = 0
    output_groups: int = 1
    output_gate: bool = False

    @property
    def cache_width(self) -> int:
        """Values of one cache entry."""
        return self.kv_rank + self.rope_dim


class Recurrent(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Linear attention or a state-space layer: a fixed state per sequence instead of a cache.

    mamba2: value_heads x value_dim is the inner width, key_heads the groups, key_dim the state.
    conv: kernel of the short causal convolution over queries, keys and values; 0 means none.
    """

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
    gate: Literal["softmax", "sigmoid", "sqrt-softplus"] = "softmax"
    latent: int = 0
    bias: bool = False


Mixer = Attention | LatentAttention | Recurrent
FeedForward = Dense | Experts


class Layer(msgspec.Struct, frozen=True, cache_hash=True):
    """One residual block; either half may be absent (hybrids interleave them)."""

    mixer: Mixer | None
    feedforward: FeedForward | None


class Vision(msgspec.Struct, frozen=True, kw_only=True):
    """The image encoder in front of a vision-language model.

    merge: patches along one side that one language token stands for. frames: in one patch.
    positions: learned position vectors. mergers: two-layer projections into the language model; 0
    means patches are averaged and projected once.
    """

    layers: int
    hidden: int
    heads: int
    intermediate: int
    patch: int
    merge: int = 1
    gated: bool = False
    frames: int = 1
    positions: int = 0
    mergers: int = 1
    attention_width: int = 0


class Architecture(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """A whole model. `mtp` are the multi-token-prediction layers behind the last one.

    tied: input embedding and output head are one matrix.
    streams: parallel residual streams (hyper-connections of DeepSeek-V4), 1 means plain.
    """

    name: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    context: int
    tied: bool = False
    mtp: tuple[Layer, ...] = ()
    vision: Vision | None = None
    streams: int = 1

    @property
    def kinds(self) -> Counter[Layer]:
        """How often each distinct layer stands in the model."""
        return Counter(self.layers)
