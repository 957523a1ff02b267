"""What the sequences of one GPU keep: how their cache grows with length, bytes."""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec

from racktwin.models import kv
from racktwin.models.architecture import Architecture, Attention, LatentAttention, Mixer, Recurrent
from racktwin.models.layout import Layout
from racktwin.models.pipeline import stages


class Cache(msgspec.Struct, frozen=True):
    """The cache of one GPU of a pipeline stage.

    charged: bytes per token when every layer counts every token.
    growth: bytes per token of the layers that keep all tokens.
    windows: (tokens kept, bytes per token) of the layers that keep a window.
    shared: bytes per token of those of them that are ordinary attention.
    state: bytes of recurrent state per sequence.
    key: bytes per token of the keys in `charged`; 0 where keys and values are one vector.
    recurrent: layers with a recurrent state; growing: layers that keep all tokens.
    """

    charged: float
    growth: float
    windows: tuple[tuple[int, float], ...]
    shared: float
    state: float
    key: float
    recurrent: int
    growing: int

    def sequence(self, context: float, margin: int = 0) -> float:
        """Bytes of one sequence of `context` tokens; windows keep `margin` tokens more."""
        kept = sum(min(context, window + margin) * size for window, size in self.windows)
        return context * self.growth + kept + self.state

    def longest(self, room: float, margin: int = 0) -> float:
        """Tokens of the longest single sequence in `room` bytes; inf when length costs nothing."""
        left = room - self.state
        if left < 0:
            return 0.0
        slope = self.growth + sum(size for _, size in self.windows)
        start = 0.0
        for window, size in sorted(self.windows):
            reach = start + left / slope
            if reach < window + margin:
                return reach
            left -= (window + margin - start) * slope
            start, slope = window + margin, slope - size
        return start + left / slope if slope > 1e-9 else math.inf


@lru_cache(maxsize=8192)
def caches(
    architecture: Architecture,
    dtype: str,
    state: str,
    layout: Layout,
    split: tuple[int, ...] | None = None,
) -> tuple[Cache, ...]:
    """The cache of one GPU of every pipeline stage. dtype, state: formats of cache and state."""
    charged = kv.stage_bytes_per_token(architecture, dtype, layout, "uniform", split)
    growth = kv.stage_bytes_per_token(architecture, dtype, layout, "hybrid", split)
    ranges = stages(len(architecture.layers), layout.pipeline, split)
    found = []
    for index, layers in enumerate(ranges):
        mixers = [architecture.layers[i].mixer for i in layers]
        windows: dict[int, float] = {}
        for mixer in mixers:
            if isinstance(mixer, Attention | LatentAttention) and mixer.window:
                size = kv.entry_bytes(mixer, dtype, layout.tensor)
                windows[mixer.window] = windows.get(mixer.window, 0.0) + size
        found.append(
            Cache(
                charged=charged[index],
                growth=growth[index],
                windows=tuple(sorted(windows.items())),
                shared=sum(
                    kv.entry_bytes(each, dtype, layout.tensor)
                    for each in mixers
                    if isinstance(each, Attention) and each.window
                ),
                state=sum(sum(kv.recurrent_bytes(each, state, layout.tensor)) for each in mixers),
                key=sum(_key(each, dtype, layout.tensor) for each in mixers),
                recurrent=sum(isinstance(each, Recurrent) for each in mixers),
                growing=sum(_grows(each) for each in mixers),
            )
        )
    return tuple(found)


def _grows(mixer: Mixer | None) -> bool:
    return isinstance(mixer, LatentAttention) or (
        isinstance(mixer, Attention) and not mixer.window and not mixer.shared_cache
    )


def _key(mixer: Mixer | None, dtype: str, tensor: int) -> float:
    if not isinstance(mixer, Attention):
        return 0.0
    width = mixer.head_dim + mixer.value_width
    return kv.entry_bytes(mixer, dtype, tensor) * mixer.head_dim / width
