"""What a checkpoint holds, whether it is sound, and how far it lies from a reference."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec
import numpy as np

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.pieces import pieces
from racktwin.checkpoints.recognition import EXTRA, Holding, recognise
from racktwin.checkpoints.selection import KEPT
from racktwin.checkpoints.weight import Weight, nvfp4_rows, values
from racktwin.finding import BadInput, Finding
from racktwin.numerics.deviation import Deviation, deviation, difference

COUNTED = 1 << 26  # bytes of a scale tensor looked at together
SCALES = {"F8_E4M3": (0x7F, 0x7F), "F8_E8M0": (0xFF, 0xFF)}  # bits that matter, those of NaN


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Tensors of one use and type; bytes: of all of them; values: a count."""

    use: str
    format: str
    tensors: int
    values: int
    bytes: int


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """faults: what makes the checkpoint unfit; settings: what its config says of quantization."""

    files: int
    bytes: int
    kinds: tuple[Kind, ...]
    formats: dict[str, int]
    settings: dict[str, str]
    faults: tuple[Finding, ...]
    deviations: dict[str, Deviation] | None = None


def inspect(found: Checkpoint, reference: Checkpoint | None = None) -> Inspection:
    """Look at every tensor; with a reference, at the error of every weight both have."""
    held = recognise(found)
    faults = [*held.faults, *_turned(held), *_not_numbers(found)]
    formats: dict[str, int] = {}
    for weight in held.weights.values():
        formats[weight.format] = formats.get(weight.format, 0) + 1
    return Inspection(
        files=len(found.shards),
        bytes=found.bytes,
        kinds=tuple(_kinds(found, held)),
        formats=formats,
        settings=_settings(found),
        faults=tuple(faults),
        deviations=None if reference is None else deviations(found, reference),
    )


def _kinds(found: Checkpoint, held: Holding) -> Iterator[Kind]:
    """By use: linear weights, their scales, what is never quantized, the rest."""
    owner = {
        name: (weight, role) for weight in held.weights.values()
        for role, name in weight.tensors.items()
    }  # fmt: skip
    sums: dict[tuple[str, str], list[int]] = {}
    for name in found.at:
        entry = found.entry(name)
        weight, role = owner.get(name, (None, ""))
        count = int(np.prod(entry.shape, dtype=np.int64))
        form = entry.dtype
        if weight is not None and role == "weight":
            use, form = _use(weight), weight.format
            count = int(np.prod(weight.shape, dtype=np.int64)) if weight.readable else count
        elif role or EXTRA.search(name):
            use = "scales"
        else:
            use = "other"
        total = sums.setdefault((use, form), [0, 0, 0])
        for index, value in enumerate((1, count, entry.bytes)):
            total[index] += value
    for (use, form), (tensors, count, size) in sorted(sums.items(), key=lambda e: -e[1][2]):
        yield Kind(use=use, format=form, tensors=tensors, values=count, bytes=size)


def _use(weight: Weight) -> str:
    for reason, patterns in KEPT.items():
        if any(fnmatchcase(weight.module, pattern) for pattern in patterns):
            return reason
    return "linear" if len(weight.shape) == 2 else "other"


def _settings(found: Checkpoint) -> dict[str, str]:
    settings = found.quantization
    keys = ("quant_method", "quant_algo", "format", "weight_block_size", "fmt")
    return {key: str(settings[key])[:60] for key in keys if settings.get(key) is not None}


def _turned(held: Holding) -> Iterator[Finding]:
    for weight in held.weights.values():
        if weight.transposed:
            text = "is packed along its rows (in/2, out); engines expect (out, in/2)"
            yield Finding(weight.tensors["weight"], text)


def _not_numbers(found: Checkpoint) -> Iterator[Finding]:
    """Scales that are NaN: one of them makes NaN of every answer."""
    for name in found.at:
        entry = found.entry(name)
        if not EXTRA.search(name):
            continue
        wrong = 0
        if entry.dtype in SCALES:
            mask, value = SCALES[entry.dtype]
            for begin in range(0, entry.bytes, COUNTED):
                raw = found.at[name].bytes(name, begin, min(entry.bytes, begin + COUNTED))
                wrong += int(((raw & mask) == value).sum())
        elif entry.dtype in ("F32", "BF16", "F16"):
            wrong = int((~np.isfinite(found.rows(name).astype(np.float32))).sum())
        if wrong:
            count = int(np.prod(entry.shape, dtype=np.int64))
            yield Finding(name, f"{wrong:,} of {count:,} scales are NaN or infinite")


def deviations(found: Checkpoint, reference: Checkpoint) -> dict[str, Deviation]:
    """Error of each weight of `found` against the same module of `reference`, a share of it."""
    own, right = recognise(found).weights, recognise(reference).weights
    both = [name for name in own if name in right and own[name].readable and right[name].readable]
    if not both:
        raise BadInput([Finding("--reference", "has no weight of the same name")], "quantize")
    faults = [
        Finding(name, f"has shape {own[name].shape}, the reference {right[name].shape}")
        for name in both
        if own[name].shape != right[name].shape
    ]
    if faults:
        raise BadInput(faults[:8], "quantize")
    seen = {}
    for name in both:
        if len(own[name].shape) == 2 and own[name].format in ("nvfp4", "fp8_block"):
            seen[name] = _deviation(found, own[name], reference, right[name])
    return seen


def _deviation(found: Checkpoint, own: Weight, reference: Checkpoint, right: Weight) -> Deviation:
    total = Deviation()
    walked = own if own.block[0] % right.block[0] == 0 else right  # no scale's rows are cut
    for begin, end in pieces(walked):
        wanted = np.ascontiguousarray(values(reference, right, begin, end), np.float32)
        if own.format == "nvfp4":
            total.add(deviation(wanted, nvfp4_rows(found, own, begin, end), begin))
        else:
            total.add(difference(wanted, values(found, own, begin, end).astype(np.float32)))
    return total
