"""From the quantization settings of a checkpoint to the precision of each part.

Reads what checkpoints carry: ModelOpt (hf_quant_config.json or inside config.json, with excluded
modules and per-layer algorithms), compressed-tensors, block-scaled FP8, MXFP4, FBGEMM, GPTQ, AWQ
and bitsandbytes. A part is taken as quantized as its largest matrix is.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from racktwin.models.architecture import Architecture
from racktwin.models.fields import Fields, shown
from racktwin.models.module_names import LINEAR, places
from racktwin.models.precision import Precision
from racktwin.models.weights import layer_weights

ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8_block",
    "FP8_PB_REAL": "fp8_block",
    "MXFP8": "mxfp8",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "W4A16": "int4",
    "W4A16_AWQ": "int4",
    "W4A8_AWQ": "int4",
    "W8A16": "int8",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "INT8": "int8",
}
EXCLUDED = ("exclude_modules", "ignore", "modules_to_not_convert", "ignored_layers")


def read_precision(
    whole: Fields, text: Fields, quant: Any, architecture: Architecture
) -> Precision:
    """Precision of the checkpoint that `whole`, its text section and a quant file describe."""
    base = _plain(whole, text)
    inside = whole.section("quantization_config") or text.section("quantization_config")
    beside = Fields(quant, whole.findings, "hf_quant_config.") if quant is not None else None
    sections = [
        found.section("quantization") or found for found in (inside, beside) if found is not None
    ]
    if not sections:
        return base
    # The config itself rules; the file beside it may know more about the cache.
    cache = next((name for section in sections if (name := _cache_format(section))), base.kv)
    table = _table(sections[0], text, architecture, base)
    return msgspec.structs.replace(_settled(base, table, architecture), kv=cache)


def _plain(whole: Fields, text: Fields) -> Precision:
    """Precision of a checkpoint without quantization settings."""
    names = {"float16": "fp16", "float32": "fp32", "bfloat16": "bf16"}
    found = next(
        (f.text("dtype", "torch_dtype") for f in (text, whole) if f.has("dtype", "torch_dtype")), ""
    )
    dtype = names.get(found, "bf16")
    state = names.get(text.text("mamba_ssm_dtype", "mamba_ssm_cache_dtype"), "fp32")
    if dtype == "bf16":
        return Precision(state=state)
    parts = dict.fromkeys((*LINEAR, "router", "norm", "head", "embedding", "vision"), dtype)
    return msgspec.structs.replace(Precision(name=dtype, state=state), **parts)


Table = dict[tuple[int, str], str]  # (layer or -1 for all, part) -> format


def _table(section: Fields, text: Fields, architecture: Architecture, base: Precision) -> Table:
    """Formats that the quantization settings of a checkpoint name."""
    default = _default_format(section)
    layers = len(architecture.layers)
    table: Table = {}
    if default:
        for part in (*LINEAR, "mtp"):
            table[-1, part] = default
    if default and text.text("expert_dtype") == "fp4":  # DeepSeek-V4: E2M1 with a scale for 32
        table[-1, "experts"] = "mxfp4"
    beside = text.flag("enable_moe_block")
    # Where an outer algorithm lies over block-scaled FP8, what it excludes stays FP8.
    if not (section.text("quant_algo").upper() == "MIXED_PRECISION" and default):
        _apply_exclusions(section, table, layers, base, beside)
    _apply_layers(section, table, layers)
    return table


def _default_format(section: Fields) -> str:
    """The format of linear layers that nothing else is said about; '' means unquantized."""
    algorithm = section.text("quant_algo").upper()
    method = section.text("quant_method").lower()
    if algorithm == "MIXED_PRECISION":
        return "fp8_block" if section.has("weight_block_size") else ""
    if algorithm:
        if algorithm not in ALGORITHMS:
            section.fault("quant_algo", f"{shown(algorithm)} is not known")
        return ALGORITHMS.get(algorithm, "")
    match method:
        case "fp8":
            return "fp8_block" if section.has("weight_block_size") else "fp8"
        case "fbgemm_fp8":
            return "fp8"
        case "mxfp4":
            return "mxfp4"
        case "gptq" | "awq" | "auto-round" | "autoround":
            bits = section.integer("bits", "w_bit", default=4, high=16)
            return (
                "int8" if bits == 8 else _int4(section.integer("group_size", default=128, low=-1))
            )
        case "bitsandbytes":
            return "int8" if section.flag("load_in_8bit") else "nf4"
        case "compressed-tensors" | "modelopt" | "":
            return _group_format(section)
    section.fault("quant_method", f"{shown(method)} is not known")
    return ""


def _int4(group: int) -> str:
    return {32: "int4_g32", 64: "int4_g64"}.get(group, "int4")


def _group_format(section: Fields) -> str:
    """The format of the first group of config_groups that targets all linear layers."""
    groups = section.section("config_groups")
    if groups is None:
        return ""
    for name in groups.values:
        group = groups.section(name)
        targets = (group.items("targets") if group else None) or ["Linear"]
        if group is not None and "Linear" in targets:
            weights = group.section("weights")
            return _weights_format(weights) if weights else ""
    return ""


def _weights_format(weights: Fields) -> str:
    bits = weights.integer("num_bits", default=16, high=32)
    kind = weights.text("type", default="int")
    group = weights.integer("group_size", default=0, low=-1)
    if kind == "float" and bits == 4:
        return "mxfp4" if group == 32 else "nvfp4"
    if kind == "float" and bits == 8:
        return "fp8_block" if weights.text("strategy") == "block" else "fp8"
    if bits == 4:
        return _int4(group)
    return "int8" if bits == 8 else ""


def _cache_format(section: Fields) -> str:
    """Format of the cache the checkpoint carries scales for; '' when it names none."""
    named = section.values.get("kv_cache_quant_algo") or section.values.get("kv_cache_scheme")
    if isinstance(named, str):
        return {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}.get(named.upper(), "")
    if isinstance(named, dict):
        return "fp8" if named.get("num_bits") == 8 else ""
    return ""


def _apply_layers(section: Fields, table: Table, layers: int) -> None:
    """Formats that single modules are given by name."""
    targeted = _apply_targets(section, table, layers)
    named = section.section("quantized_layers")
    if named is None:
        if section.text("quant_algo").upper() == "MIXED_PRECISION" and not targeted:
            section.note("quantized_layers", "null or absent with MIXED_PRECISION; taken as empty")
        return
    for pattern, settings in named.values.items():
        algorithm = settings.get("quant_algo") if isinstance(settings, dict) else settings
        dtype = ALGORITHMS.get(str(algorithm).upper())
        if dtype is None:
            named.fault(pattern[:60], f"{shown(algorithm)} is not a known algorithm")
            return
        _enter(table, pattern, dtype, layers)


def _apply_targets(section: Fields, table: Table, layers: int) -> bool:
    """Formats of config_groups that name their modules; whether there were any."""
    groups = section.section("config_groups")
    found = False
    for name in groups.values if groups else ():
        group = groups.section(name) if groups else None
        weights = group.section("weights") if group else None
        dtype = _weights_format(weights) if weights else ""
        for target in (group.items("targets") if group and dtype else None) or []:
            if isinstance(target, str) and target != "Linear":
                _enter(table, target, dtype, layers)
                found = True
    return found


def _apply_exclusions(
    section: Fields, table: Table, layers: int, base: Precision, beside: bool
) -> None:
    """What stays as it was. beside: 'mlp' names the dense half beside the experts (Gemma 4)."""
    for key in EXCLUDED:
        for pattern in section.items(key) or []:
            if not isinstance(pattern, str):
                section.fault(key, f"expected module names, found {shown(pattern)}")
                break
            if beside and pattern.endswith(".mlp*"):
                pattern = pattern.replace(".mlp*", ".shared_experts")
            _enter(table, pattern, base.attention, layers)


def _enter(table: Table, pattern: str, dtype: str, layers: int) -> None:
    """Note `dtype` for what `pattern` means; layers behind the last one are draft layers."""
    layer, parts = places(pattern)
    if layer >= layers:
        layer, parts = -1, ("mtp",) if "experts" in parts else ()
    for part in parts:
        table[layer, part] = dtype


def _settled(base: Precision, table: Table, architecture: Architecture) -> Precision:
    """One format a part, the most frequent, and the layers that differ from it."""
    holds = {
        layer: {weight.part for weight in layer_weights(layer, architecture.hidden)}
        for layer in architecture.kinds
    }
    main: dict[str, str] = {}
    odd: list[tuple[int, str, str]] = []
    for part in sorted({part for _, part in table}):
        whole = table.get((-1, part), "" if part == "mtp" else base.of(part))
        each = {
            index: table.get((index, part), whole)
            for index, layer in enumerate(architecture.layers)
            if part in holds[layer]
        }
        if not each and (part in LINEAR or not architecture.mtp):
            continue
        main[part] = Counter(each.values()).most_common(1)[0][0] if each else whole
        odd += [(index, part, dtype) for index, dtype in each.items() if dtype != main[part]]
    return msgspec.structs.replace(base, **main, name=_name(main, base), layers=tuple(sorted(odd)))


def _name(main: dict[str, str], base: Precision) -> str:
    """What a person calls it: the format of the experts, or of the dense feed-forwards."""
    for part in ("experts", "dense", "attention"):
        if main.get(part, base.of(part)) != base.of(part):
            return main[part]
    return base.name
