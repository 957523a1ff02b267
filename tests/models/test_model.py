"""Models by name, by published id and by path."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from racktwin import models
from racktwin.finding import BadInput
from racktwin.models.model import _shipped

NAMED_IN_THE_ISSUE = {
    *("deepseek-r1", "deepseek-v3.2", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"),
    *("llama-2-70b", "gpt-oss-20b", "gpt-oss-120b", "qwen3-32b", "qwen3-30b-a3b"),
    *("qwen3-235b-a22b", "qwen3.5-397b", "mixtral-8x7b", "kimi-k2", "kimi-k2.5", "glm-4.5"),
    *("glm-5", "minimax-m2.5", "llama-4-maverick", "phi-3-mini", "phi-3.5-moe", "phi-4"),
    *("qwen2.5-vl-72b", "hypothetical-100t-moe"),
}
VL = ("2B", "4B", "8B", "32B")


def test_the_named_models_ship() -> None:
    assert len(models.names()) >= 30
    assert set(models.names()) >= NAMED_IN_THE_ISSUE
    assert all(name == name.lower() for name in models.names())


@pytest.mark.parametrize(
    ("published", "name", "precision"),
    [
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1", "fp8_block"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1", "fp8_block"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "deepseek-r1", "nvfp4"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1", "nvfp4"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", "bf16"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8"),
        ("meta-llama/Llama-2-70b-chat-hf", "llama-2-70b", "bf16"),
        ("llama2-70b", "llama-2-70b", "bf16"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b", "bf16"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b", "fp8"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b-2507", "bf16"),
        ("Qwen/Qwen3.5-397B-A17B", "qwen3.5-397b", "bf16"),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick", "bf16"),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "llama-3.3-nemotron-super-49b", "bf16"),
        ("GPT-OSS-120B", "gpt-oss-120b", "mxfp4"),
    ],
)
def test_published_ids(published: str, name: str, precision: str) -> None:
    found = models.model(published)
    assert (found.name, found.precision.name) == (name, precision)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("deepseek-r2", "deepseek-r1"), ("gptoss-120", "gpt-oss-120b"), ("", "lists them")],
)
def test_unknown_names_get_a_hint(wrong: str, hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        models.model(wrong)


def test_a_huge_name_is_refused_quickly() -> None:
    start = time.process_time()
    with pytest.raises(BadInput):
        models.model("qwen" * 10**6)
    assert time.process_time() - start < 1


def test_loading_is_fast() -> None:
    models.model("deepseek-r1")  # imports
    names = models.names()
    _shipped.cache_clear()
    start = time.process_time()
    for name in names:
        models.model(name)
    assert (time.process_time() - start) / len(names) < 0.02


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("deepseek-ai--DeepSeek-R1", "deepseek-r1"),
        ("deepseek-ai--DeepSeek-V3.2", "deepseek-v3.2"),
        ("deepseek-ai--DeepSeek-V4-Pro", "deepseek-v4-pro"),
        ("meta-llama--Meta-Llama-3.1-405B", "llama-3.1-405b"),
        ("openai--gpt-oss-120b", "gpt-oss-120b"),
        ("Qwen--Qwen3-0.6B", "qwen3-0.6b"),
        ("Qwen--Qwen3-1.7B", "qwen3-1.7b"),
        ("Qwen--Qwen3-235B-A22B", "qwen3-235b-a22b"),
        *((f"Qwen--Qwen3-VL-{size}-Instruct", f"qwen3-vl-{size.lower()}") for size in VL),
        ("Qwen--Qwen3-VL-30B-A3B-Instruct", "qwen3-vl-30b"),
        ("XiaomiMiMo--MiMo-7B-Base", "mimo-7b"),
        ("nvidia--Kimi-K2.7-Code-NVFP4", "kimi-k2.7-code"),
        ("nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", "nemotron-3.5-lightning-30b"),
        ("Qwen--Qwen3.5-397B-A17B", "qwen3.5-397b"),
        ("Qwen--Qwen3.5-27B", "qwen3.5-27b"),
        ("mistralai--Mixtral-8x7B-v0.1", "mixtral-8x7b"),
        ("moonshotai--Kimi-K2-Instruct", "kimi-k2"),
        ("moonshotai--Kimi-K2.5", "kimi-k2.5"),
        ("moonshotai--Kimi-K3", "kimi-k3"),
        ("zai-org--GLM-5", "glm-5"),
        ("zai-org--GLM-5.1", "glm-5.1"),
        ("zai-org--GLM-5.2", "glm-5.2"),
        ("zai-org--GLM-5.3", "glm-5.3"),
        ("MiniMaxAI--MiniMax-M2.7", "minimax-m2.7"),
        ("google--gemma-4-26B-A4B", "gemma-4-26b"),
        ("XiaomiMiMo--MiMo-V2-Flash", "mimo-v2-flash"),
        ("stepfun-ai--Step-3.7-Flash", "step-3.7-flash"),
        ("nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nemotron-3-ultra-550b"),
        ("nvidia--Llama-3_3-Nemotron-Super-49B-v1", "llama-3.3-nemotron-super-49b"),
    ],
)
def test_the_catalog_says_what_the_published_config_says(
    shared: Path, file: str, name: str
) -> None:
    raw = models.model(shared / "models/configs" / f"{file}_config.json").architecture
    found = models.model(name).architecture
    left_out = {"name": name}
    if name.startswith("minimax"):  # its draft layers are not published
        left_out["mtp"] = ()  # type: ignore[assignment]
    assert msgspec.structs.replace(raw, **left_out) == found


def test_a_folder_with_its_quantization_file(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "vocab_size": 100,
    }
    folder = tmp_path / "My-Model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    assert models.model(folder).precision.dense == "bf16"
    quant = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    (folder / "hf_quant_config.json").write_text(json.dumps(quant))
    for path in (folder, folder / "config.json", str(folder / "config.json")):
        found = models.model(path)
        assert (found.name, found.kind, found.precision.dense) == ("my-model", "given", "fp8")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("nvidia--Kimi-K2.7-Code-NVFP4", "kimi-k2.7-code"),
        ("nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", "nemotron-3.5-lightning-30b"),
    ],
)
def test_the_catalog_says_what_the_quantized_config_says(
    shared: Path, file: str, name: str
) -> None:
    raw = models.model(shared / "models/configs" / f"{file}_config.json").precision
    assert models.model(name).at("nvfp4") == raw


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("deepseek-r1", "nvfp4", {"attention": "bf16", "output": "nvfp4", "dense": "nvfp4"}),
        ("deepseek-r1", "fp8", {"attention": "fp8_block", "experts": "fp8_block"}),
        ("deepseek-r1", "bf16", {"attention": "bf16", "experts": "bf16", "kv": "bf16"}),
        ("llama-3.1-70b", "nvfp4", {"attention": "nvfp4", "dense": "nvfp4", "head": "bf16"}),
        ("qwen3-235b-a22b", "nvfp4", {"attention": "nvfp4", "experts": "nvfp4", "kv": "fp8"}),
        ("minimax-m2.5", "nvfp4", {"attention": "bf16", "experts": "nvfp4"}),
        ("kimi-k2", "nvfp4", {"output": "nvfp4", "experts": "nvfp4"}),
        ("gpt-oss-120b", "mxfp4", {"attention": "bf16", "experts": "mxfp4"}),
        ("mixtral-8x7b", "int4", {"experts": "int4", "attention": "bf16"}),
        ("mixtral-8x7b", "int8", {"experts": "int8", "attention": "int8", "head": "bf16"}),
        ("kimi-k2-thinking", "int4", {"experts": "int4_g32", "shared": "bf16"}),
    ],
)
def test_precisions(name: str, wanted: str, expected: dict[str, str]) -> None:
    found = models.model(name).at(wanted)
    assert {part: getattr(found, part) for part in expected} == expected


def test_unknown_precision() -> None:
    with pytest.raises(BadInput, match="nvfp4"):
        models.model("deepseek-r1").at("nvfp5")


@pytest.mark.parametrize(
    "path", ["./" + "a" * 300 + ".json", "./" + "a" * 300, "~nobody-of-that-name/config.json"]
)
def test_paths_no_system_can_follow(path: str) -> None:
    with pytest.raises(BadInput, match=r"cannot be read: (File name too long|No such file)"):
        models.model(path)
