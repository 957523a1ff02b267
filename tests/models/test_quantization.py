"""Quantization settings of real checkpoints, and odd ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from racktwin import models
from racktwin.finding import BadInput
from racktwin.models import Precision
from racktwin.models.config_reader import Reading, read
from racktwin.models.module_names import places

BASE: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "kv_lora_rank": 64,
    "q_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "first_k_dense_replace": 1,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "intermediate_size": 512,
    "num_nextn_predict_layers": 1,
}


def quantized(settings: Any, quant: Any = None) -> Reading:
    return read(BASE | {"quantization_config": settings}, quant)


def parts(precision: Precision) -> dict[str, str]:
    names = ("attention", "output", "dense", "experts", "shared", "head", "mtp", "kv")
    return {
        name: getattr(precision, name) for name in names if precision.of(name) not in ("bf16", "")
    }


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("model.layers.12.self_attn.kv_a_proj_with_mqa", (12, ())),
        ("model.layers.12.self_attn.q_b_proj", (12, ("attention",))),
        ("model.layers.0.self_attn.indexer*", (0, ("indexer",))),
        ("model.layers.3.mlp.experts.17.down_proj", (3, ("experts",))),
        ("model.layers.3.mlp.gate", (3, ())),
        ("backbone.layers.7.mixer.in_proj", (7, ("recurrent",))),
        ("backbone.layers.7.mixer.o_proj", (7, ("output",))),
        ("language_model.model.layers.2.block_sparse_moe.shared_experts.up_proj", (2, ("shared",))),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", (-1, ("dense",))),
        ("*.attn.*", (-1, ("attention", "output", "indexer"))),
        ("lm_head", (-1, ("head",))),
        ("model.visual*", (-1, ("vision",))),
        ("mtp.layers.0*", (-1, ("mtp",))),
        ("x" * 10**6, (-1, ())),
    ],
)
def test_names_mean_parts(pattern: str, expected: tuple[int, tuple[str, ...]]) -> None:
    assert places(pattern) == expected


def test_modelopt_with_excluded_modules() -> None:
    """The rule of DeepSeek-V3.1-NVFP4: all but queries, keys, values, head and drafts."""
    excluded = ["lm_head", "model.layers.4*"] + [
        f"model.layers.{layer}.self_attn.{name}"
        for layer in range(4)
        for name in ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj")
    ]
    quant = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    quant["quantization"]["exclude_modules"] = excluded  # type: ignore[assignment]
    found = read(BASE, quant).precision
    four_bit = dict.fromkeys(("output", "dense", "experts", "shared"), "nvfp4")
    assert parts(found) == four_bit | {"kv": "fp8"}
    assert found.mtp == "bf16"
    assert (found.attention, found.layers) == ("bf16", ())


def test_one_layer_excluded() -> None:
    settings = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.2.mlp"]}
    found = quantized(settings).precision
    assert found.layers == ((2, "experts", "bf16"), (2, "shared", "bf16"))
    assert (found.experts, found.dense) == ("fp8", "fp8")


@pytest.mark.parametrize(
    ("settings", "dtype"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int4_g64"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_NVFP4"}, "nvfp4"),
        (None, "bf16"),
    ],
)
def test_methods(settings: Any, dtype: str) -> None:
    found = quantized(settings).precision
    assert (found.experts, found.dense, found.attention) == (dtype, dtype, dtype)
    assert (found.head, found.embedding, found.router) == ("bf16", "bf16", "bf16")


def test_d15_mixed_precision_without_layers() -> None:
    settings = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    found = quantized(settings | {"quantized_layers": None})
    assert parts(found.precision) == {}
    assert "taken as empty" in str(found.notes[0])


def test_mixed_precision_names_its_layers() -> None:
    layers = {
        "model.layers.1.mlp.experts.0.up_proj": {"quant_algo": "NVFP4"},
        "model.layers.2.mlp.experts.0.up_proj": {"quant_algo": "NVFP4"},
        "model.layers.3.mlp.experts": {"quant_algo": "MXFP8"},
        "lm_head": {"quant_algo": "FP8"},
    }
    settings = {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    found = quantized(settings).precision
    assert (found.experts, found.head, found.attention) == ("nvfp4", "fp8", "bf16")
    assert found.layers == ((3, "experts", "mxfp8"),)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"quant_method": "magic"}, "quant_method"),
        ({"quant_algo": "FP3"}, "quant_algo"),
        ({"quant_method": 7}, "quant_method"),
        ([], "quantization_config"),
        ({"quant_method": "fp8", "ignored_layers": [None]}, "ignored_layers"),
        ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": {}}}}, "a"),
    ],
)
def test_odd_settings_are_named(settings: Any, key: str) -> None:
    with pytest.raises(BadInput) as raised:
        quantized(settings)
    assert any(key in finding.key for finding in raised.value.findings)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("nvidia--DeepSeek-V3.2-NVFP4", {"experts": "nvfp4", "output": "nvfp4", "indexer": "bf16"}),
        ("nvidia--GLM-5-NVFP4", {"experts": "nvfp4", "output": "bf16", "dense": "nvfp4"}),
        ("nvidia--MiniMax-M3-NVFP4", {"experts": "nvfp4", "attention": "mxfp8", "head": "bf16"}),
        ("nvidia--Qwen3.6-27B-NVFP4", {"dense": "nvfp4", "recurrent": "fp8", "head": "nvfp4"}),
        ("nvidia--DeepSeek-V4-Pro-NVFP4", {"experts": "nvfp4", "attention": "fp8_block"}),
        ("nvidia--Gemma-4-26B-A4B-NVFP4", {"experts": "nvfp4", "shared": "bf16", "kv": "fp8"}),
        ("deepseek-ai--DeepSeek-V4-Flash", {"experts": "mxfp4", "shared": "fp8_block"}),
        ("openai--gpt-oss-120b", {"experts": "mxfp4", "attention": "bf16", "output": "bf16"}),
        ("moonshotai--Kimi-K3", {"experts": "mxfp4", "shared": "bf16", "dense": "bf16"}),
        ("zai-org--GLM-5.2-FP8", {"experts": "fp8_block", "mtp": "fp8_block", "head": "bf16"}),
    ],
)
def test_real_files(shared: Path, file: str, expected: dict[str, str]) -> None:
    found = models.model(shared / "models/configs" / f"{file}_config.json").precision
    assert {part: getattr(found, part) for part in expected} == expected


def test_nemotron_nano_leaves_six_mamba_layers_alone(shared: Path) -> None:
    name = "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4_config.json"
    found = models.model(shared / "models/configs" / name).precision
    assert (found.recurrent, found.attention) == ("nvfp4", "bf16")
    assert [index for index, _, _ in found.layers] == [4, 11, 18, 25, 32, 41]
