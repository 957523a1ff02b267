"""One forward pass as operators on one GPU, and how often each of them runs."""

from __future__ import annotations

from collections import Counter

import msgspec

from racktwin.models.architecture import Architecture, Dense, Experts, Layer
from racktwin.models.layout import Layout
from racktwin.models.mixer_operators import mixer_operators
from racktwin.models.operators import (
    ACTIVATION,
    PAYLOAD,
    AllReduce,
    Exchange,
    Gather,
    Gemm,
    Grouped,
    Operator,
    Stream,
    split,
)
from racktwin.models.precision import Precision

MATRICES = ("attention", "output", "recurrent", "indexer", "dense", "experts", "shared")


def _dense(part: str, hidden: int, width: int, gated: bool, dtype: str) -> list[Operator]:
    return [
        Gemm(part, width * (2 if gated else 1), hidden, dtype),
        Gemm(part, hidden, width, dtype),
        Stream(ACTIVATION * width * (3 if gated else 2)),
    ]


def _experts(ffn: Experts, hidden: int, layout: Layout, precision: Precision) -> list[Operator]:
    width = ffn.latent or hidden
    operators: list[Operator] = [Gemm("router", ffn.experts, hidden, "bf16")]
    if ffn.latent:
        operators += [
            Gemm("experts", width, hidden, precision.shared),
            Gemm("experts", hidden, width, precision.shared),
        ]
    if ffn.shared:
        shared = split(ffn.shared, layout.tensor)
        operators += _dense("shared experts", hidden, shared, ffn.gated, precision.shared)
    if layout.attention_data > 1 and layout.expert > 1:
        payload = PAYLOAD.get(precision.experts, float(ACTIVATION))
        share = 1 / layout.tensor
        operators.append(
            Exchange(width, ffn.top_k, ffn.experts, layout.expert, payload, ACTIVATION, share)
        )
    elif layout.attention_data > 1:
        operators.append(Gather(width * ACTIVATION / layout.tensor, layout.stage))
    grouped = Grouped(
        width,
        ffn.intermediate,
        ffn.top_k,
        ffn.experts,
        layout.expert,
        layout.expert_tensor,
        precision.experts,
        ffn.gated,
        layout.attention_data,
    )
    return [*operators, grouped]


def layer_operators(
    layer: Layer, hidden: int, layout: Layout, precision: Precision
) -> list[Operator]:
    """Operators of one layer on one GPU, in the order they run."""
    operators: list[Operator] = []
    reduce = AllReduce(hidden * ACTIVATION, layout.tensor)
    norm = Stream(4 * ACTIVATION * hidden)
    if layer.mixer is not None:
        operators += [norm, *mixer_operators(layer.mixer, hidden, layout.tensor, precision)]
        operators += [reduce] if layout.tensor > 1 else []
    if layer.feedforward is not None:
        operators.append(norm)
        match layer.feedforward:
            case Dense():
                width = split(layer.feedforward.intermediate, layout.tensor)
                gated = layer.feedforward.gated
                operators += _dense("dense feed-forward", hidden, width, gated, precision.dense)
            case Experts():
                operators += _experts(layer.feedforward, hidden, layout, precision)
        operators += [reduce] if layout.tensor > 1 else []
    return operators


def step_operators(
    architecture: Architecture, layout: Layout, precision: Precision
) -> Counter[Operator]:
    """Operators of one forward pass through layers and head, with how often each runs."""
    total: Counter[Operator] = Counter()
    for layer, count in architecture.kinds.items():
        for operator in layer_operators(layer, architecture.hidden, layout, precision):
            total[operator] += count
    total[head_operator(architecture, layout, precision)] += 1
    return total


def draft_operators(
    architecture: Architecture, layout: Layout, precision: Precision
) -> Counter[Operator]:
    """Operators of one multi-token-prediction draft: its block, its fusing projection, the head."""
    total: Counter[Operator] = Counter()
    hidden = architecture.hidden
    own = dict.fromkeys(MATRICES, precision.mtp) if precision.mtp else {}
    drafting = msgspec.structs.replace(precision, **own)
    for layer in draft_block(architecture):
        total.update(layer_operators(layer, hidden, layout, drafting))
    total[Gemm("drafts", hidden, 2 * hidden, precision.mtp or "bf16")] += 1
    total[head_operator(architecture, layout, precision)] += 1
    return total


def draft_block(architecture: Architecture) -> tuple[Layer, ...]:
    """The layers of one draft: up to the first feed-forward, which hybrids keep apart."""
    ends = [layer.feedforward is not None for layer in architecture.mtp]
    return architecture.mtp[: ends.index(True) + 1] if any(ends) else architecture.mtp


def head_operator(architecture: Architecture, layout: Layout, precision: Precision) -> Gemm:
    """The output projection to the vocabulary, on the sampled positions only."""
    vocab = -(-architecture.vocab // layout.tensor)
    return Gemm("head", vocab, architecture.hidden, precision.head, "samples")
