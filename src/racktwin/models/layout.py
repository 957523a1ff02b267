"""How one replica of a model is spread over GPUs.

A replica holds tensor x attention_data x pipeline GPUs. Each attention-data rank is a group of
`tensor` GPUs that keeps its own sequences and their KV cache. The routed experts of a layer are
spread over the tensor x attention_data GPUs of its pipeline stage: expert x expert_tensor of them.
Dense feed-forwards and shared experts are split over `tensor`.
"""

from __future__ import annotations

import msgspec


class Layout(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Degrees of parallelism of one replica; every one is a count of ranks, at least 1."""

    tensor: int = 1
    pipeline: int = 1
    attention_data: int = 1
    expert: int = 1
    expert_tensor: int = 1

    @property
    def stage(self) -> int:
        """GPUs of one pipeline stage."""
        return self.tensor * self.attention_data

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.stage * self.pipeline
