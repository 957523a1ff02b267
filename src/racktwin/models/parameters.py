"""Parameter counts, and bytes of weights: on disk, and on the fullest GPU of a layout."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from racktwin.models.architecture import Architecture, Experts, Layer
from racktwin.models.formats import bytes_per_value
from racktwin.models.layout import Layout
from racktwin.models.pipeline import Split, stages
from racktwin.models.precision import Precision
from racktwin.models.weights import (
    Weight,
    draft_weights,
    layer_weights,
    outer_weights,
    vision_weights,
)


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of weights.

    total: what model cards call the size: layers, embedding, head, image encoder; without the
    multi-token-prediction layers (`mtp`). active: weights one text token is multiplied with,
    without the input embedding (a look-up) and the image encoder, with the head.
    """

    total: int
    active: int
    embedding: int
    head: int
    vision: int
    mtp: int
    parts: dict[str, int]


@lru_cache(maxsize=256)
def parameters(architecture: Architecture) -> Parameters:
    """Counts of all weights of `architecture`."""
    parts: Counter[str] = Counter()
    idle = 0
    for layer, count in architecture.kinds.items():
        for weight in layer_weights(layer, architecture.hidden, architecture.streams):
            parts[weight.part] += count * weight.elements
        idle += count * _idle(layer, architecture.hidden)
    embedding, head, norm = outer_weights(architecture)
    for weight in (embedding, head, norm):
        parts[weight.part] += weight.elements
    if architecture.vision:
        parts["vision"] = vision_weights(architecture.vision, architecture.hidden).elements
    total = sum(parts.values())
    matrix = embedding.elements
    unused = idle + parts["vision"] + (0 if architecture.tied else matrix)
    return Parameters(
        total=total,
        active=total - unused,
        embedding=matrix,
        head=head.elements,
        vision=parts["vision"],
        mtp=sum(weight.elements for weight in draft_weights(architecture)),
        parts={part: count for part, count in parts.items() if count},
    )


def _idle(layer: Layer, hidden: int) -> int:
    """Weights of the routed experts that a token is not sent to."""
    experts = layer.feedforward
    if not isinstance(experts, Experts):
        return 0
    routed = next(w.elements for w in layer_weights(layer, hidden) if w.part == "experts")
    return routed // experts.experts * (experts.experts - experts.top_k)


def weight_bytes(
    architecture: Architecture,
    precision: Precision,
    layout: Layout | None = None,
    *,
    mtp: bool = False,
    split: Split = None,
    spare_experts: int = 0,
) -> float:
    """Bytes of weights on the fullest GPU of a replica: the sum over `weight_parts`."""
    parts = weight_parts(
        architecture, precision, layout, mtp=mtp, split=split, spare_experts=spare_experts
    )
    return sum(parts.values())


def weight_parts(
    architecture: Architecture,
    precision: Precision,
    layout: Layout | None = None,
    *,
    mtp: bool = False,
    split: Split = None,
    spare_experts: int = 0,
) -> dict[str, float]:
    """Bytes of weights by part on a GPU of the fullest pipeline stage.

    mtp: load the multi-token-prediction layers. split: layers of each stage when uneven.
    spare_experts: redundant expert slots of every MoE layer.
    """
    options = (mtp, tuple(split) if split is not None else None, spare_experts)
    per_stage = stage_parts(architecture, precision, layout or Layout(), *options)
    fullest = max(per_stage, key=_total)
    return dict(fullest)


def _total(parts: dict[str, float]) -> float:
    return sum(parts.values())


@lru_cache(maxsize=4096)
def stage_parts(
    architecture: Architecture,
    precision: Precision,
    layout: Layout,
    mtp: bool = False,
    split: tuple[int, ...] | None = None,
    spare_experts: int = 0,
) -> tuple[dict[str, float], ...]:
    """Bytes of weights by part on one GPU of every pipeline stage (do not change the dicts)."""
    ranges = stages(len(architecture.layers), layout.pipeline, split)
    result = []
    for index, layers in enumerate(ranges):
        parts: defaultdict[str, float] = defaultdict(float)
        for part, elements, dtype in _stage_elements(
            architecture, precision, layout, layers, spare_experts
        ):
            parts[part] += elements * bytes_per_value(dtype)
        for weight, dtype in _outer(architecture, precision, index == 0, index == len(ranges) - 1):
            parts[weight.part] += weight.share(layout.tensor, 1, 1) * bytes_per_value(dtype)
        if mtp and index == len(ranges) - 1:
            parts["mtp"] += _draft_bytes(architecture, precision, layout, spare_experts)
        result.append({part: size for part, size in parts.items() if size})
    return tuple(result)


def _stage_elements(
    architecture: Architecture, precision: Precision, layout: Layout, layers: range, spare: int
) -> Iterable[tuple[str, float, str]]:
    """(part, elements on one GPU, format) of the layers of one stage."""
    special: dict[int, dict[str, str]] = {}
    for index, part, dtype in precision.layers:
        special.setdefault(index, {})[part] = dtype
    plain = Counter(architecture.layers[index] for index in layers if index not in special)
    groups = [(layer, count, dict[str, str]()) for layer, count in plain.items()]
    groups += [(architecture.layers[i], 1, special[i]) for i in layers if i in special]
    degrees = (layout.tensor, layout.expert, layout.expert_tensor, spare)
    for layer, count, exceptions in groups:
        for weight in layer_weights(layer, architecture.hidden, architecture.streams):
            dtype = exceptions.get(weight.part) or precision.of(weight.part)
            yield weight.part, count * weight.share(*degrees), dtype


def _outer(
    architecture: Architecture, precision: Precision, first: bool, last: bool
) -> list[tuple[Weight, str]]:
    embedding, head, norm = outer_weights(architecture)
    weights: list[tuple[Weight, str]] = []
    if first or (last and architecture.tied):
        weights.append((embedding, precision.embedding))
    if last:
        weights += [(head, precision.head), (norm, precision.norm)]
    if first and architecture.vision:
        weights.append((vision_weights(architecture.vision, architecture.hidden), precision.vision))
    return weights


def _draft_bytes(
    architecture: Architecture, precision: Precision, layout: Layout, spare: int
) -> float:
    degrees = (layout.tensor, layout.expert, layout.expert_tensor, spare)
    total = 0.0
    for weight in draft_weights(architecture):
        dtype = precision.mtp or ("bf16" if weight.part == "mtp" else precision.of(weight.part))
        total += weight.share(*degrees) * bytes_per_value(dtype)
    return total


def checkpoint_bytes(
    architecture: Architecture, precision: Precision, *, mtp: bool = True, head: bool = True
) -> float:
    """Bytes of the files on disk. head=False: the checkpoint stores no output head."""
    parts = weight_parts(architecture, precision, mtp=mtp)
    return sum(size for part, size in parts.items() if head or part != "head")
