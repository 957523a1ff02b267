"""How one replica of a model is spread over GPUs.

A replica holds tensor x attention_data x pipeline GPUs. Each attention-data rank is a group of
`tensor` GPUs that keeps its own sequences and their KV cache. The routed experts of a layer are
spread over the tensor x attention_data GPUs of its pipeline stage: expert x expert_tensor of them.
Dense feed-forwards and shared experts are split over `tensor`.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from racktwin.finding import Finding
from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    Mixer,
    Recurrent,
)
from racktwin.models.formats import format_of
from racktwin.models.precision import Precision

MOST_RANKS = 1_000_000


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

    @property
    def title(self) -> str:
        """In the field's short form: 'TP2', 'DP16/EP16', 'TP8/EP8/PP2'."""
        degrees = {
            "TP": self.tensor,
            "DP": self.attention_data,
            "EP": self.expert,
            "PP": self.pipeline,
        }
        if self.attention_data > 1:  # else the experts are split like everything else
            degrees["ETP"] = self.expert_tensor
        return "/".join(f"{name}{ranks}" for name, ranks in degrees.items() if ranks > 1) or "TP1"


def check(
    layout: Layout, architecture: Architecture, precision: Precision, spare_experts: int = 0
) -> list[Finding]:
    """What stands against running `architecture` in `layout`; notes do not stop it.

    spare_experts: redundant expert slots of every layer. Keys are names of degrees.
    """
    findings = _degrees(layout)
    if findings:
        return findings
    depth = len(architecture.layers)
    if layout.pipeline > depth:
        text = f"{layout.pipeline} stages cannot share {depth} layers; use at most {depth}"
        findings.append(Finding("pipeline", text))
    findings += _expert_ranks(layout, architecture)
    for layer in architecture.kinds:
        findings += _mixer(layout, layer.mixer, precision)
        match layer.feedforward:
            case Dense(intermediate=width):
                findings += _width("tensor", layout.tensor, "feed-forward", width, precision.dense)
            case Experts() as experts:
                findings += _experts(layout, architecture.name, experts, precision, spare_experts)
    return list(dict.fromkeys(findings))


def legal_tensor_sizes(
    architecture: Architecture, kv: Literal["any", "copied", "split"] = "any"
) -> list[int]:
    """Tensor degrees that split the query heads of every layer evenly.

    kv: 'copied' also wants key-value heads split or copied evenly, 'split' only split.
    """
    mixers = {layer.mixer for layer in architecture.kinds if layer.mixer is not None}
    heads = [_heads(mixer) for mixer in mixers]
    legal = _divisors(math.gcd(*(query for query, _ in heads)))
    if kv == "any":
        return legal
    copied = kv == "copied"
    return [t for t in legal if all(_kv_fits(k, t, copied) for _, k in heads)]


def _heads(mixer: Mixer) -> tuple[int, int]:
    """(heads that are split, heads that may be copied) of a mixer; a latent cache has none."""
    match mixer:
        case Attention():
            return mixer.heads, mixer.kv_heads
        case Recurrent():
            return mixer.value_heads, mixer.key_heads
    return mixer.heads, mixer.heads


def _kv_fits(heads: int, tensor: int, copied: bool) -> bool:
    return heads % tensor == 0 or (copied and tensor % heads == 0)


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def _degrees(layout: Layout) -> list[Finding]:
    return [
        Finding(name, f"expected a whole number from 1 to {MOST_RANKS}, found {value!r}")
        for name, value in msgspec.structs.asdict(layout).items()
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RANKS
    ]


def _expert_ranks(layout: Layout, architecture: Architecture) -> list[Finding]:
    """Routed experts must fill the stage; a dense model has none to spread."""
    ranks = layout.expert * layout.expert_tensor
    if any(isinstance(layer.feedforward, Experts) for layer in architecture.kinds):
        if ranks == layout.stage:
            return []
        text = (
            f"{layout.expert} x expert_tensor {layout.expert_tensor} = {ranks} ranks, but a stage"
            f" has tensor {layout.tensor} x attention_data {layout.attention_data} = {layout.stage}"
        )
        return [Finding("expert", text)]
    names = [name for name in ("expert", "expert_tensor") if getattr(layout, name) > 1]
    return [Finding(name, f"{architecture.name} has no experts; use 1") for name in names]


def _mixer(layout: Layout, mixer: Mixer | None, precision: Precision) -> list[Finding]:
    if mixer is None:
        return []
    tensor = layout.tensor
    heads, kv_heads = _heads(mixer)
    if heads % tensor:
        sizes = _or(_divisors(heads))
        text = f"{tensor} ranks cannot split {heads} attention heads evenly; use {sizes}"
        return [Finding("tensor", text)]
    findings = []
    if not _kv_fits(kv_heads, tensor, copied=True):
        text = f"{tensor} ranks can neither split nor evenly copy {kv_heads} key-value heads"
        fits = [d for d in _divisors(heads) if _kv_fits(kv_heads, d, copied=True)]
        findings.append(Finding("tensor", f"{text}; use {_or(fits)}"))
    elif tensor > kv_heads and isinstance(mixer, Attention):
        text = f"{tensor} ranks share {kv_heads} key-value heads: each is kept {tensor // kv_heads}"
        findings.append(Finding("tensor", f"{text} times, and so is its cache", note=True))
    wide = heads * (mixer.value_width if isinstance(mixer, Attention) else mixer.value_dim)
    dtype = precision.recurrent if isinstance(mixer, Recurrent) else precision.output
    return findings + _groups("tensor", tensor, "attention output", wide, dtype)


def _experts(
    layout: Layout, name: str, experts: Experts, precision: Precision, spare: int
) -> list[Finding]:
    findings = []
    count, ranks = experts.experts, layout.expert
    slots = count + spare
    if slots % ranks:
        needed = -(-count // ranks) * ranks
        near = [d for d in _divisors(count) if d <= ranks][-1:] + [
            d for d in _divisors(count) if d > ranks
        ][:1]
        held = f"{count} experts" if not spare else f"{count} experts and {spare} spare slots"
        text = f"{ranks} ranks cannot hold {name}'s {held} evenly; "
        text += f"add redundant experts (slots: {needed}) or use {_or(near)}"
        findings.append(Finding("expert", text))
    width = experts.intermediate
    findings += _width("expert_tensor", layout.expert_tensor, "expert", width, precision.experts)
    if experts.shared:
        width = experts.shared
        findings += _width("tensor", layout.tensor, "shared expert", width, precision.shared)
    return findings


def _width(degree: str, ranks: int, part: str, width: int, dtype: str) -> list[Finding]:
    """A feed-forward is cut along its inner width."""
    if width % ranks:
        text = f"{ranks} ranks cannot split the {part} width {width:,} evenly"
        return [Finding(degree, text)]
    return _groups(degree, ranks, part, width, dtype)


def _groups(degree: str, ranks: int, part: str, width: int, dtype: str) -> list[Finding]:
    """A cut must not go through values that share a scale."""
    block = format_of(dtype).block
    share = width // ranks
    if ranks == 1 or share % block == 0:
        return []
    legal = [d for d in _divisors(width) if d <= ranks and width // d % block == 0] or [1]
    padded = -(-width // (block * ranks)) * block * ranks
    text = (
        f"{part} width {width:,} / {ranks} = {share:,} is not a multiple of {block}, the group of"
        f" {dtype}; use {_or(legal)}, or pad to {padded:,}"
    )
    # Engines pad MXFP4 experts when they load them (vLLM, SGLang, TensorRT-LLM on gpt-oss).
    return [Finding(degree, text, note=dtype == "mxfp4")]


def _or(numbers: list[int]) -> str:
    shown = [f"{number:,}" for number in numbers]
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else "1"
