"""A question about fit, read from what a user typed: does a model load there, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from racktwin import catalog, hardware
from racktwin.engine import sizing
from racktwin.engine.convention import Convention, convention
from racktwin.engine.flags import DEGREES, Flags
from racktwin.engine.memory import PerStage, Stated
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Chip
from racktwin.models import Experts, Layout, Model, Precision, model
from racktwin.units import Bytes, Fraction

T = TypeVar("T")

MOST_TOKENS = 1 << 30
MOST_RANKS = 1 << 17
MOST_MEMORY = 1 << 44  # bytes of one GPU
CACHES = ("bf16", "fp16", "fp8", "fp8_ds_mla", "nvfp4", "int8", "q8_0")


class Place(msgspec.Struct, frozen=True):
    """GPUs to fit on: their kind, how many there are, how many share an NVLink domain."""

    name: str
    chip: Chip
    gpus: int
    domain: int


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked. The precision holds the cache format too.

    layout: None to look for the smallest; gpus: how many it must use, None for as few as will do.
    fraction: memory fraction, None for the engine's own. max_len: tokens of the longest request.
    max_batch, max_batch_tokens: sequences and tokens of a step, 0 for the engine's own.
    visible: bytes an engine sees per GPU. flags: what was typed.
    """

    model: Model
    precision: Precision
    place: Place
    rule: Convention
    layout: Layout | None
    gpus: int | None
    split: tuple[int, ...] | None
    fraction: float | None
    max_len: int
    max_batch: int
    max_batch_tokens: int
    visible: PerStage
    stated: Stated
    flags: Flags
    notes: tuple[Finding, ...]


def ask(name: str | Path, on: str | Path, flags: Flags | None = None) -> Question:
    """The question a command line puts; BadInput with every finding."""
    flags = flags or Flags()
    findings: list[Finding] = []
    known = _gather(findings, lambda: model(name))
    place = _gather(findings, lambda: find_place(on))
    rule = _engine(flags.engine, findings)
    precision = _precision(known, flags, findings)
    for key in ("gpus", *DEGREES):
        _whole(key, getattr(flags, key), MOST_RANKS, findings)
    for key in ("max_len", "max_batch", "max_batch_tokens"):
        _whole(key, getattr(flags, key), MOST_TOKENS, findings)
    hbm = _sizes("hbm", flags.hbm, findings)
    stated = Stated(
        weights=_size("weights", flags.weights, findings),
        activations=_size("activations", flags.activations, findings),
        reserved=_size("reserved", flags.reserved, findings),
        room=_sizes("kv_room", flags.kv_room, findings),
    )
    fraction = _fraction(flags.memory_fraction, findings)
    split = _split(flags.split, findings)
    layout = _layout(flags, known, split, findings)
    _per_stage({"hbm": hbm, "kv_room": stated.room}, layout, findings)
    if layout is not None and known is not None and place is not None:
        limit = min(place.gpus, flags.gpus or place.gpus)
        checked = precision or known.precision
        findings += sizing.faults(layout, known.architecture, checked, limit)
    if findings or known is None or place is None or rule is None or precision is None:
        raise BadInput(list(dict.fromkeys(findings)), "fit")
    if hbm is not None:  # what an engine sees: the driver has had its part
        rule = msgspec.structs.replace(rule, driver=Bytes(0))
    return Question(
        model=known,
        precision=precision,
        place=place,
        rule=rule,
        layout=layout,
        gpus=flags.gpus,
        split=split,
        fraction=fraction,
        max_len=flags.max_len or known.architecture.context,
        max_batch=flags.max_batch or 0,
        max_batch_tokens=flags.max_batch_tokens or 0,
        visible=float(place.chip.memory_visible) if hbm is None else hbm,
        stated=stated,
        flags=flags,
        notes=known.notes,
    )


def find_place(on: str | Path) -> Place:
    """The GPUs that the name of a cluster or a chip, or a cluster file, means."""
    chips, clusters = catalog.names("chips"), catalog.names("clusters")
    if str(on).lower() in chips:
        chip = hardware.chip(str(on).lower())
        racks = [hardware.rack(each) for each in catalog.names("racks")]
        domains = [each.domain for each in racks if each.host.chip.name == chip.name]
        return Place(chip.name, chip, MOST_RANKS, max(domains, default=1))
    if not catalog.is_path(on) and str(on).lower() not in clusters:
        raise BadInput([unknown("on", str(on), [*clusters, *chips])])
    cluster = hardware.cluster(on)
    return Place(cluster.name, cluster.chip, cluster.gpus, cluster.gpus_per_domain)


def _gather(findings: list[Finding], read: Callable[[], T]) -> T | None:
    try:
        return read()
    except BadInput as fault:
        for each in fault.findings:
            key = fault.source if each.key == "file" else each.key
            findings.append(msgspec.structs.replace(each, key=key))
        return None


def _engine(name: str, findings: list[Finding]) -> Convention | None:
    if name in catalog.names("engines"):
        return convention(name)
    findings.append(unknown("engine", name, catalog.names("engines")))
    return None


def _precision(known: Model | None, flags: Flags, findings: list[Finding]) -> Precision | None:
    cache = flags.kv_dtype
    if cache is not None and cache not in CACHES:
        findings.append(unknown("kv_dtype", cache, CACHES))
    if known is None:
        return None
    found = _gather(findings, lambda: known.at(flags.precision or ""))
    return found if found is None or cache is None else msgspec.structs.replace(found, kv=cache)


def _whole(key: str, value: int | None, most: int, findings: list[Finding]) -> None:
    if value is not None and (type(value) is not int or not 1 <= value <= most):
        message = f"expected a whole number from 1 to {most:,}, found {value!r}"
        findings.append(Finding(key, message))


def _sizes(key: str, text: str | None, findings: list[Finding]) -> PerStage | None:
    if text is None:
        return None
    each = [_size(key, part, findings) for part in str(text).split(",")]
    sizes = tuple(size for size in each if size is not None)
    if len(sizes) < len(each):
        return None
    return sizes[0] if len(sizes) == 1 else sizes


def _size(key: str, text: str | None, findings: list[Finding]) -> float | None:
    if text is None:
        return None
    size = _gather(findings, lambda: Bytes.parse(text, key))
    if size is not None and not 0 < size <= MOST_MEMORY:
        most = Bytes(MOST_MEMORY).binary()
        findings.append(Finding(key, f"{text!r} is out of range; expected more than 0 to {most}"))
    return None if size is None else float(size)


def _fraction(value: str | float | None, findings: list[Finding]) -> float | None:
    if value is None:
        return None
    found = _gather(findings, lambda: Fraction.parse(value, "memory_fraction"))
    if found is not None and not found:
        findings.append(Finding("memory_fraction", "0 leaves no memory; expected more than 0 to 1"))
    return None if found is None else float(found)


def _split(text: str | None, findings: list[Finding]) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = str(text).split(",")
    if not all(word.strip().isdecimal() and len(word.strip()) < 6 for word in words):
        findings.append(Finding("split", f"{text[:40]!r} is no list of layer counts like '16,32'"))
        return None
    return tuple(int(word) for word in words)


def _layout(
    flags: Flags, known: Model | None, split: tuple[int, ...] | None, findings: list[Finding]
) -> Layout | None:
    """The layout the flags name; experts follow from the rest where nothing is said of them."""
    unsaid = split is None and all(getattr(flags, key) is None for key in DEGREES)
    if unsaid or known is None or {"split", "gpus", *DEGREES} & {each.key for each in findings}:
        return None
    tensor, data = flags.tensor or 1, flags.attention_data or 1
    pipeline = flags.pipeline or (len(split) if split else 1)
    expert, cut = flags.expert or 0, flags.expert_tensor or 0
    stage = tensor * data
    if any(isinstance(layer.feedforward, Experts) for layer in known.architecture.kinds):
        if not expert and not cut:
            expert, cut = (stage, 1) if data > 1 else (1, stage)
        expert = expert or max(1, stage // cut)
        cut = cut or max(1, stage // expert)
    depth = len(known.architecture.layers)
    if split is not None and (len(split) != pipeline or sum(split) != depth or 0 in split):
        message = f"must be {pipeline} counts of at least 1 that sum to {depth} layers"
        findings.append(Finding("split", message))
    return Layout(
        tensor=tensor,
        pipeline=pipeline,
        attention_data=data,
        expert=expert or 1,
        expert_tensor=cut or 1,
    )


def _per_stage(
    sizes: dict[str, PerStage | None], layout: Layout | None, findings: list[Finding]
) -> None:
    stages = layout.pipeline if layout else 1
    for key, values in sizes.items():
        if isinstance(values, tuple) and len(values) != stages:
            hint = "" if layout else "; name --pipeline"
            message = f"{len(values)} values for {stages} pipeline stages{hint}"
            findings.append(Finding(key, message))
