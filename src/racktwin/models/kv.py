"""What a sequence keeps in GPU memory: bytes per token of cache, and recurrent state.

Per GPU of a layout: key-value heads are split over `tensor` and replicated where there are fewer
heads than ranks; a latent cache is never split; pipeline stages hold the layers they have.

Two conventions exist for windowed layers. A 'uniform' pool charges every layer for every token
(vLLM's allocator when it reports capacity); a 'hybrid' pool keeps only the window of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from racktwin.models.architecture import (
    Architecture,
    Attention,
    LatentAttention,
    Mixer,
    Recurrent,
)
from racktwin.models.formats import bytes_per_value
from racktwin.models.layout import Layout
from racktwin.models.pipeline import Split, stages

Pool = Literal["uniform", "hybrid"]


def entry_bytes(mixer: Mixer | None, dtype: str = "bf16", tensor: int = 1) -> float:
    """Bytes one cache entry of one layer takes on one GPU; without the indexer's key."""
    match mixer:
        case Attention() if not mixer.shared_cache:
            heads = -(-mixer.kv_heads // tensor)
            return heads * (mixer.head_dim + mixer.value_width) * bytes_per_value(dtype)
        case LatentAttention() if dtype == "fp8_ds_mla":
            # FlashMLA: fp8 latent, a float32 scale for each 128 of it, bf16 rotary part.
            return mixer.kv_rank + mixer.kv_rank // 128 * 4 + mixer.rope_dim * 2
        case LatentAttention():
            return mixer.cache_width * bytes_per_value(dtype)
    return 0.0


def index_bytes(mixer: Mixer | None) -> float:
    """Bytes of the indexer's key of one entry: fp8 with one float32 scale for 128 (DeepSeek)."""
    index = mixer.indexer if isinstance(mixer, Attention | LatentAttention) else None
    if index is None or index.shared:
        return 0.0
    return index.head_dim + 4 * index.head_dim / 128


def layer_bytes(
    mixer: Mixer | None, tokens: float, dtype: str = "bf16", tensor: int = 1, pool: Pool = "uniform"
) -> float:
    """Bytes one layer holds on one GPU for a sequence of `tokens` tokens."""
    if mixer is None or isinstance(mixer, Recurrent):
        return 0.0
    entry = entry_bytes(mixer, dtype, tensor)
    if isinstance(mixer, LatentAttention) and (mixer.compress_ratio > 1 or mixer.window):
        ratio = mixer.compress_ratio
        far = tokens / ratio * (entry + index_bytes(mixer)) if ratio > 1 else 0.0
        return far + min(tokens, mixer.window) * entry
    seen = min(tokens, mixer.window) if pool == "hybrid" and mixer.window else tokens
    return seen * entry + tokens * index_bytes(mixer)


def _layer_slope(mixer: Mixer | None, dtype: str, tensor: int, pool: Pool) -> float:
    """Bytes a long sequence adds per token in one layer."""
    if isinstance(mixer, LatentAttention) and (mixer.compress_ratio > 1 or mixer.window):
        entry = entry_bytes(mixer, dtype, tensor) + index_bytes(mixer)
        return entry / mixer.compress_ratio if mixer.compress_ratio > 1 else 0.0
    if pool == "hybrid" and isinstance(mixer, Attention) and mixer.window:
        return index_bytes(mixer)
    return entry_bytes(mixer, dtype, tensor) + index_bytes(mixer)


@lru_cache(maxsize=4096)
def stage_bytes_per_token(
    architecture: Architecture,
    dtype: str = "bf16",
    layout: Layout | None = None,
    pool: Pool = "uniform",
    split: tuple[int, ...] | None = None,
) -> tuple[float, ...]:
    """Bytes of cache a token adds on one GPU of every pipeline stage."""
    layout = layout or Layout()
    slopes = {
        layer: _layer_slope(layer.mixer, dtype, layout.tensor, pool) for layer in architecture.kinds
    }
    return tuple(
        sum(slopes[architecture.layers[index]] for index in stage)
        for stage in stages(len(architecture.layers), layout.pipeline, split)
    )


def kv_bytes_per_token(
    architecture: Architecture,
    dtype: str = "bf16",
    layout: Layout | None = None,
    *,
    pool: Pool = "uniform",
    split: Split = None,
) -> float:
    """Bytes of cache a token adds on the GPU that holds most of it."""
    key = tuple(split) if split is not None else None
    return max(stage_bytes_per_token(architecture, dtype, layout, pool, key))


def sequence_bytes(
    architecture: Architecture,
    tokens: float,
    dtype: str = "bf16",
    layout: Layout | None = None,
    *,
    pool: Pool = "uniform",
    split: Split = None,
) -> float:
    """Bytes of cache of one sequence of `tokens` tokens on the GPU that holds most of it."""
    layout = layout or Layout()
    held = [
        sum(
            layer_bytes(architecture.layers[index].mixer, tokens, dtype, layout.tensor, pool)
            for index in stage
        )
        for stage in stages(len(architecture.layers), layout.pipeline, split)
    ]
    return max(held)


def recurrent_bytes(
    mixer: Mixer | None, state: str = "fp32", tensor: int = 1
) -> tuple[float, float]:
    """Bytes of (state, convolution tail in bf16) of one sequence in one layer on one GPU."""
    if not isinstance(mixer, Recurrent):
        return 0.0, 0.0
    values = -(-mixer.value_heads // tensor)
    keys = -(-mixer.key_heads // tensor)
    matrix = values * mixer.key_dim * mixer.value_dim * bytes_per_value(state)
    channels = 2 * keys * mixer.key_dim + values * mixer.value_dim
    return matrix, max(0, mixer.conv - 1) * channels * bytes_per_value("bf16")


def state_bytes(
    architecture: Architecture,
    state: str = "fp32",
    layout: Layout | None = None,
    *,
    split: Split = None,
) -> float:
    """Bytes of recurrent state of one sequence on the GPU that holds most, whatever its length."""
    layout = layout or Layout()
    sizes = {
        layer: sum(recurrent_bytes(layer.mixer, state, layout.tensor))
        for layer in architecture.kinds
    }
    return max(
        sum(sizes[architecture.layers[index]] for index in stage)
        for stage in stages(len(architecture.layers), layout.pipeline, split)
    )
