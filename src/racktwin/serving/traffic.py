"""What is asked of a deployment."""

from __future__ import annotations

import msgspec


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of a kind: mean lengths in tokens, and the share of the input found in the cache.

    input, output: mean tokens per request; prefix_hit: 0..1 of the input tokens.
    variation: squared coefficient of variation of the output lengths, 0 when all are equal.
    images: per request; image_tokens: of one, part of the input.
    """

    input: float
    output: float
    prefix_hit: float = 0.0
    variation: float = 0.0
    images: float = 0.0
    image_tokens: float = 0.0

    @property
    def new(self) -> float:
        """Input tokens to compute per request; an engine computes at least one."""
        return max(1.0, self.input * (1 - self.prefix_hit))

    @property
    def cached(self) -> float:
        """Input tokens per request already in the KV cache."""
        return self.input - self.new

    @property
    def decode_context(self) -> float:
        """Mean tokens in the cache of a decoding sequence: long answers are met more often."""
        return self.input + self.output / 2 * (1 + self.variation)

    def held(self, reserved: float) -> float:
        """Mean tokens of cache a running request keeps others from: its own, and what an engine
        keeps free of the rest of its answer.

        reserved: that share of the rest, 0..1.
        """
        half = self.output / 2 * (1 + self.variation)
        return self.input + half + reserved * half

    @property
    def steps(self) -> float:
        """Tokens a request gains by decode steps (the first comes from its prefill)."""
        return max(self.output - 1, 1e-9)
