"""Parallelism labels of published serving measurements, and the layouts they mean.

Several conventions are in use; the layout columns often multiply TP by EP. Each rule below gives
the one reading with a consistent number of GPUs; whatever it adds to the label is said.
"""

from __future__ import annotations

import re

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.models.layout import Layout

TAG = re.compile(r"_tp(\d{1,5})(?:_0)?_ep(\d{1,5})(?:_0)?(?:_|$)")
TAG_TENSOR = re.compile(r"_tp(\d{1,5})(?:_0)?_epnone")


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """The layout columns of one pool as written; None is an empty cell, zeros mean 1."""

    tensor: int | None = None
    pipeline: int | None = None
    attention_data: int | None = None
    expert_tensor: int | None = None
    expert: int | None = None


class Reading(msgspec.Struct, frozen=True):
    """A layout and what of it does not stand in the label."""

    layout: Layout
    inferred: tuple[str, ...] = ()


def tagged(identifier: str) -> tuple[int | None, int | None]:
    """(tensor, expert) as a row's id names them ('..._tp2_ep2_994' -> (2, 2)), else None."""
    if found := TAG.search(identifier):
        return int(found[1]), int(found[2])
    if found := TAG_TENSOR.search(identifier):
        return int(found[1]), None
    return None, None


def read(label: Label, *, moe: bool, identifier: str = "", engine: str = "") -> Reading:
    """The layout a label means. Raises BadInput where no rule makes its numbers agree.

    moe: whether the model has routed experts (dense models ignore the expert columns). engine:
    vLLM's rows of one convention multiply EP by the TP of its replica, others' by attention DP.
    """
    if label.tensor is None and label.attention_data is None:
        raise BadInput([Finding("tp_size", "empty: the layout is not known")])
    tensor, pipeline = label.tensor or 1, label.pipeline or 1
    data = label.attention_data or 1
    if not moe:
        return Reading(Layout(tensor=tensor, pipeline=pipeline, attention_data=data))
    split, expert = label.expert_tensor or 1, label.expert or 1
    said = None if label.attention_data is None else data
    layout, inferred = _experts(tensor, said, split, expert, tagged(identifier), engine)
    return Reading(msgspec.structs.replace(layout, pipeline=pipeline), inferred)


def _experts(
    tensor: int,
    data: int | None,
    split: int,
    expert: int,
    tag: tuple[int | None, int | None],
    engine: str,
) -> tuple[Layout, tuple[str, ...]]:
    side = expert
    given = data or 1
    literal = tag[0] == tensor and tag[1] in (None, expert) and tensor != side
    if side > 1 and split == side and not literal:
        if tensor == side * side and given == 1:
            return Layout(tensor=side, expert=side), (f"tp {tensor} multiplies TP by EP",)
        if tensor == 1 and given == side * side:
            return Layout(attention_data=side, expert=side), (f"attention-dp {given} is DP x EP",)
    if tensor == given > 1 and split == 1 and expert == tensor * tensor:
        if engine == "vllm":
            return Layout(tensor=tensor, expert=tensor), (f"ep {expert} is TP x EP",)
        return Layout(attention_data=tensor, expert=tensor), (f"ep {expert} is DP x EP",)
    notes: tuple[str, ...] = ()
    if data is None and split * expert > tensor and split * expert % tensor == 0:
        given = split * expert // tensor
        notes = (f"attention-dp empty: {given} from the experts' {split * expert} ranks",)
    stage = tensor * given
    if split * expert == 1 and stage > 1:
        return Layout(tensor=tensor, attention_data=given, expert_tensor=stage), (
            *notes,
            "experts' layout empty: split like the tensors",
        )
    if split * expert != stage:
        message = f"experts on {split} x {expert} ranks, attention on {tensor} x {given}"
        raise BadInput([Finding("moe_ep_size", message)])
    return (
        Layout(tensor=tensor, attention_data=given, expert=expert, expert_tensor=split),
        notes,
    )


def total(label: Label) -> int | None:
    """GPUs of a disaggregated deployment whose sum was written as one TP, or None.

    Rack-scale aggregated rows with a TP of 12 or more and undivided experts are such sums.
    """
    tensor = label.tensor or 1
    whole = tensor >= 12 and label.expert_tensor == tensor and (label.expert or 1) == 1
    return tensor if whole and (label.attention_data or 1) == 1 else None


def split(gpus: int, prefill: int, widest: int = 32) -> tuple[int, Layout, Layout]:
    """A disaggregated reading of a sum: (prefill replicas, prefill layout, decode layout).

    The widest power of two up to `widest` GPUs decodes as one attention-data, expert-parallel
    group; what is left prefills in such groups of `prefill`, or of 4 where that does not divide.
    """
    decode = widest
    while decode >= gpus:
        decode //= 2
    rest = gpus - decode
    width = next(each for each in (prefill, 4, 2, 1) if rest % each == 0)
    groups = (
        Layout(attention_data=width, expert=width),
        Layout(attention_data=decode, expert=decode),
    )
    return rest // width, *groups
