"""Which weights are quantized: matrices of linear layers; the rest stays, with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from racktwin.checkpoints.recognition import Holding
from racktwin.checkpoints.weight import PLAIN, Weight
from racktwin.finding import BadInput, Finding, nearest

READ = (*PLAIN.values(), "fp8_block")
WHOLE = ("i64", "i32", "i16", "u64", "u32", "u16", "bool")
SHOWN = 8  # faults that are listed
# Why a matrix stays as it was -> patterns of its module's name; NVIDIA's recipes leave them too.
KEPT: dict[str, tuple[str, ...]] = {
    "output head": ("lm_head", "*.lm_head", "head", "*.head", "output", "embed_out", "classifier",
                    "*output_layer", "score", "proj_out", "*.proj_out"),
    "embedding": ("*embed*", "*.wte", "wte", "*.wpe", "wpe"),
    "norm": ("*norm*", "*Norm*"),
    "router": ("*.gate", "*router*", "*shared_expert_gate"),
    "convolution": ("*conv1d*", "*.conv", "*patch_embed*"),
}  # fmt: skip
# Layers that engines multiply as one: their parts get one tensor scale.
FUSED: tuple[tuple[str, ...], ...] = (
    ("q_proj", "k_proj", "v_proj"),
    ("query", "key", "value"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
    ("q_a_proj", "kv_a_proj_with_mqa"),
)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """chosen: weights to quantize; kept: module -> why not; mates: module -> those of its scale."""

    chosen: dict[str, Weight]
    kept: dict[str, str]
    mates: dict[str, tuple[str, ...]]


def select(held: Holding, exclude: Sequence[str], block: int, source: str) -> Selection:
    """What is quantized in blocks of `block`; BadInput on quantized input and on what does not fit.

    exclude: patterns of modules as in a shell ('*.self_attn.*'); each must match one.
    """
    faults = [*_quantized(held), *_idle(held, exclude)]
    chosen, kept = {}, {}
    for name, weight in sorted(held.weights.items()):
        reason = _reason(weight, exclude)
        if reason:
            kept[name] = reason
        elif weight.shape[1] % block == 0:
            chosen[name] = weight
        else:
            text = f"{weight.shape[1]:,} columns are no multiple of {block}; --exclude {name!r}"
            faults.append(Finding(name, text))
    if not chosen and not faults:
        faults.append(Finding("weights", "holds no linear layer to quantize"))
    if faults:
        more = len(faults) - SHOWN
        tail = [Finding("weights", f"and {more:,} more faults")] if more > 0 else []
        raise BadInput([*faults[:SHOWN], *tail], source)
    return Selection(chosen=chosen, kept=kept, mates=_mates(chosen))


def _quantized(held: Holding) -> list[Finding]:
    """Refuse what is quantized already: a second rounding is an error nobody asked for."""
    found = [each for each in held.weights.values() if each.format not in READ]
    if not found:
        return []
    first = found[0]
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    what = f"is quantized already ({first.format})"
    if first.format in WHOLE:
        what = f"holds whole numbers ({first.format})"
    elif first.format == "c64":
        what = "holds complex numbers (c64)"
    text = f"{what}{more}; read are {', '.join(READ)}"
    return [Finding(first.module, text)]


def _idle(held: Holding, exclude: Sequence[str]) -> list[Finding]:
    found = []
    for pattern in exclude:
        if not any(_matches(name, pattern) for name in held.weights):
            close = nearest(pattern, held.weights)
            hint = f"; did you mean {close!r}?" if close else ""
            found.append(Finding("--exclude", f"{pattern!r} matches no module{hint}"))
    return found


def _matches(name: str, pattern: str) -> bool:
    """By the pattern, or by a whole name that has brackets or stars itself."""
    return name == pattern or fnmatchcase(name, pattern)


def _reason(weight: Weight, exclude: Sequence[str]) -> str:
    """Why a weight stays as it was, '' when it does not."""
    name = weight.module
    if any(_matches(name, pattern) for pattern in exclude):
        return "excluded"
    for reason, patterns in KEPT.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    if len(weight.shape) != 2:
        return f"{len(weight.shape)} axes, not 2"
    if weight.tensors["weight"] == name:
        return "no linear layer"
    return ""


def _mates(chosen: dict[str, Weight]) -> dict[str, tuple[str, ...]]:
    found = {}
    for name in chosen:
        parent, _, last = name.rpartition(".")
        group = next((each for each in FUSED if last in each), (last,))
        names = [f"{parent}.{each}" if parent else each for each in group]
        found[name] = tuple(each for each in names if each in chosen)
    return found
