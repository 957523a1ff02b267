"""Which weights a checkpoint holds and how they are stored, by names, types and shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import numpy as np

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.weight import BLOCK, FP8, NVFP4_BLOCK, PLAIN, Weight
from racktwin.finding import BadInput, Finding
from racktwin.numerics import e2m1

# What other tools add to a module beside its weight.
EXTRA = re.compile(
    r"\.(weight_scale_inv|weight_scale_2|weight_scale|weight_global_scale|weight_packed|"
    r"weight_zero_point|weight_shape|input_scale|input_global_scale|qweight|qzeros|scales|g_idx|"
    r"pre_quant_scale)$"
)
SAMPLE = 64  # rows of a square weight that are looked at


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint holds: weights of matrices by module; faults of how they are stored."""

    weights: dict[str, Weight]
    faults: tuple[Finding, ...] = ()


def recognise(found: Checkpoint) -> Holding:
    """Every matrix of the checkpoint. A fault is told by the tensor's name; nothing is guessed."""
    block, faults = _fp8_block(found)
    weights: dict[str, Weight] = {}
    for name in found.at:
        module, _, role = name.rpartition(".")
        if module and role in ("weight", "weight_packed", "qweight"):
            made = _weight(found, module, role, block, faults)
        elif len(found.entry(name).shape) > 1 and not EXTRA.search(name):
            module, made = name, _bare(found, name)
        else:
            continue
        if made is not None:
            weights[module] = made
    return Holding(weights=weights, faults=tuple(faults))


def _bare(found: Checkpoint, name: str) -> Weight | None:
    """A matrix, or several in one, that is no MODULE.weight: a parameter of its own."""
    entry = found.entry(name)
    if entry.dtype not in PLAIN:
        return None
    tensors = {"weight": name}
    return Weight(module=name, format=PLAIN[entry.dtype], shape=entry.shape, tensors=tensors)


def _weight(
    found: Checkpoint, module: str, role: str, block: tuple[int, int], faults: list[Finding]
) -> Weight | None:
    name = f"{module}.{role}"
    entry = found.entry(name)
    if len(entry.shape) < 2:
        return None
    if role == "qweight":
        return Weight(module=module, format="int4", shape=entry.shape, tensors={"weight": name})
    if entry.dtype in PLAIN:
        tensors = {"weight": name}
        return Weight(module=module, format=PLAIN[entry.dtype], shape=entry.shape, tensors=tensors)
    if entry.dtype in FP8 and f"{module}.weight_scale_inv" in found:
        return _fp8(found, module, block, faults)
    if entry.dtype in ("U8", "F4"):
        return _nvfp4(found, module, role, faults)
    form = "fp8" if entry.dtype in FP8 else entry.dtype.lower()
    return Weight(module=module, format=form, shape=entry.shape, tensors={"weight": name})


def _fp8_block(found: Checkpoint) -> tuple[tuple[int, int], list[Finding]]:
    """Block of FP8 weights: from the config, never from shapes, whose last blocks may be short."""
    given = found.quantization.get("weight_block_size")
    if given is None:
        return (BLOCK, BLOCK), []
    if (
        isinstance(given, list)
        and len(given) == 2
        and all(type(each) is int and 0 < each < 1 << 20 for each in given)
    ):
        return (given[0], given[1]), []
    text = f"expected two counts, found {str(given)[:40]}"
    return (BLOCK, BLOCK), [Finding("quantization_config.weight_block_size", text)]


def _fp8(
    found: Checkpoint, module: str, block: tuple[int, int], faults: list[Finding]
) -> Weight | None:
    name, scale = f"{module}.weight", f"{module}.weight_scale_inv"
    shape, scales = found.entry(name).shape, found.entry(scale).shape
    if len(shape) != 2:
        faults.append(Finding(name, f"block-scaled FP8 of {len(shape)} axes is not read"))
        return None
    wanted = (-(-shape[0] // block[0]), -(-shape[1] // block[1]))
    if found.entry(scale).dtype not in (*PLAIN, "F8_E8M0"):
        faults.append(Finding(scale, f"scales of {found.entry(scale).dtype} are not read"))
        return None
    if scales != wanted:
        text = (
            f"{_x(scales)} scales; blocks of {_x(block)} (quantization_config.weight_block_size) "
            f"of {_x(shape)} values need {_x(wanted)}"
        )
        faults.append(Finding(scale, text))
        return None
    tensors = {"weight": name, "scale": scale}
    return Weight(module=module, format="fp8_block", shape=shape, tensors=tensors, block=block)


def _nvfp4(found: Checkpoint, module: str, role: str, faults: list[Finding]) -> Weight | None:
    """Packed codes with E4M3 scales for 16; which axis is packed is told by the scales."""
    inverse = role == "weight_packed"
    whole = f"{module}.{'weight_global_scale' if inverse else 'weight_scale_2'}"
    name, scale = f"{module}.{role}", f"{module}.weight_scale"
    entry = found.entry(name)
    if scale not in found or whole not in found or found.entry(scale).dtype != "F8_E4M3":
        form = "mxfp4" if scale in found else entry.dtype.lower()
        return Weight(module=module, format=form, shape=entry.shape, tensors={"weight": name})
    tensors = {"weight": name, "scale": scale, "tensor_scale": whole}
    half = 1 if entry.dtype == "F4" else 2  # F4 shapes count values, bytes hold two
    stored, scales = entry.shape, found.entry(scale).shape
    if len(stored) != 2 or len(scales) != 2 or half == 1:
        faults.append(Finding(name, f"{_x(stored)} of {entry.dtype} with {_x(scales)} scales"))
        return None
    shape = (scales[0], scales[1] * NVFP4_BLOCK)
    straight, turned = (shape[0], shape[1] // 2), (shape[1] // 2, shape[0])
    if stored not in (straight, turned):
        text = f"{_x(stored)} bytes, and {_x(scales)} scales of 16 need {_x(straight)}"
        faults.append(Finding(name, text))
        return None
    is_turned = stored == turned
    if straight == turned:
        decided = _orientation(found, tensors)
        if decided is None:
            text = "rows and columns cannot be told apart: square, and its scales fit either way"
            faults.append(Finding(name, text))
            return None
        is_turned = decided
    return Weight(
        module=module, format="nvfp4", shape=shape, tensors=tensors, block=(1, NVFP4_BLOCK),
        transposed=is_turned, inverse=inverse,
    )  # fmt: skip


def _orientation(found: Checkpoint, tensors: dict[str, str]) -> bool | None:
    """Whether square bytes are transposed, told by the scales; None when they do not tell.

    A scale is its block's largest over 6: read the right way nearly all blocks reach 6.
    """
    rows = found.rows(tensors["weight"]).view(np.uint8)
    reach = [_reaching(rows[:SAMPLE]), _reaching(np.ascontiguousarray(rows[:, :SAMPLE].T))]
    if abs(reach[0] - reach[1]) < 0.02:
        return None
    return reach[1] > reach[0]


def _reaching(packed: e2m1.Codes) -> float:
    """Share of blocks that hold the largest code, of 6."""
    codes = e2m1.unpack(packed) & 7
    return float((codes.reshape(len(codes), -1, NVFP4_BLOCK).max(-1) == 7).mean())


def _x(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{each:,}" for each in shape)


def refuse_faults(found: Checkpoint, held: Holding) -> None:
    """Raise what is wrong with the tensors of a checkpoint, the first eight."""
    if held.faults:
        more = len(held.faults) - 8
        tail = [Finding("checkpoint", f"and {more:,} more faults")] if more > 0 else []
        raise BadInput([*held.faults[:8], *tail], str(found.path))


def modules(held: Holding, *formats: str) -> Iterator[Weight]:
    """Weights stored in one of `formats`, by name."""
    for name in sorted(held.weights):
        if held.weights[name].format in formats:
            yield held.weights[name]
