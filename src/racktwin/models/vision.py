"""The image encoder of a vision-language model as operators on one GPU."""

from __future__ import annotations

from collections import Counter

import msgspec

from racktwin.models.architecture import Vision
from racktwin.models.operators import ACTIVATION, AllReduce, Gemm, Operator, Stream


class EncoderWork(msgspec.Struct, frozen=True):
    """How often each operator runs on every patch of an image, and on every token made of it.

    layers: that attend; heads, head_dim: of the attention on this GPU; ranks: that share the work.
    """

    patches: Counter[Operator]
    tokens: Counter[Operator]
    layers: int
    heads: int
    head_dim: int
    ranks: int


def patches(vision: Vision, tokens: float) -> float:
    """Patches that `tokens` tokens of the language model stand for."""
    return tokens * vision.merge**2


def encoder_work(vision: Vision, out: int, tensor: int, dtype: str) -> EncoderWork:
    """The encoder's operators in front of a model `out` wide.

    Tensor ranks split its heads and widths where these divide evenly, as vLLM and SGLang do by
    default; else each rank encodes alone. Windows inside the encoder (Qwen2.5-VL) are not counted:
    every patch attends to all of its image.
    """
    hidden, width = vision.hidden, vision.attention_width or vision.hidden
    even = not (vision.heads % tensor or vision.intermediate % tensor)
    ranks = tensor if even else 1
    wide, inner = width // ranks, vision.intermediate // ranks
    layer: list[Operator] = [
        Stream(2 * 4 * ACTIVATION * hidden),  # two norms with their residuals
        Gemm("encoder", 3 * wide, hidden, dtype),
        Gemm("encoder", hidden, wide, dtype),
        Gemm("encoder", inner * (2 if vision.gated else 1), hidden, dtype),
        Stream(ACTIVATION * inner * (3 if vision.gated else 2)),
        Gemm("encoder", hidden, inner, dtype),
    ]
    if ranks > 1:
        layer += 2 * [AllReduce(hidden * ACTIVATION, ranks)]
    on_patches: Counter[Operator] = Counter()
    for operator in layer:
        on_patches[operator] += vision.layers
    on_patches[Gemm("encoder", hidden, 3 * vision.frames * vision.patch**2, dtype)] += 1
    on_tokens: Counter[Operator] = Counter()
    merged = hidden * vision.merge**2
    if vision.mergers:
        on_tokens[Gemm("encoder", merged, merged, dtype)] += vision.mergers
        on_tokens[Gemm("encoder", out, merged, dtype)] += vision.mergers
    else:
        on_tokens[Gemm("encoder", out, hidden, dtype)] += 1
    return EncoderWork(
        on_patches, on_tokens, vision.layers, vision.heads // ranks, width // vision.heads, ranks
    )
