"""What people type, and ids as Hugging Face lists them, lead to the model and format they mean."""

from __future__ import annotations

import pytest

from racktwin import models
from racktwin.finding import BadInput
from racktwin.models import identifier


@pytest.mark.parametrize(
    ("published", "name", "precision"),
    [
        ("Qwen/Qwen3-4B", "qwen3-4b", "bf16"),
        ("Qwen/Qwen3-4B-Thinking-2507-FP8", "qwen3-4b-2507", "fp8"),
        ("Qwen/Qwen3-32B-FP8-Static-PerTensor", "qwen3-32b", "fp8"),
        ("RedHatAI/Qwen3-32B-FP8_BLOCK", "qwen3-32b", "fp8"),
        ("Qwen/Qwen3-32B-AWQ", "qwen3-32b", "int4"),
        ("Qwen/Qwen3-30B-A3B-GPTQ-Int4", "qwen3-30b-a3b", "int4"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "qwen2.5-72b", "int8"),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "llama-3.1-70b", "int4"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b", "int8"),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "llama-3.1-70b", "fp8"),
        ("unsloth/Llama-3.2-3B-Instruct-bnb-4bit", "llama-3.2-3b", "int4"),
        ("nvidia/Llama-3.3-70B-Instruct-FP4", "llama-3.3-70b", "nvfp4"),
        ("amd/DeepSeek-R1-MXFP4-Preview", "deepseek-r1", "mxfp4"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2", "fp8_block"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "deepseek-r1-distill-llama-70b", "bf16"),
        ("google/gemma-3-27b-it", "gemma-3-27b", "bf16"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b", "bf16"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b-2501", "bf16"),
        ("mistral-small-24b", "mistral-small-24b-2501", "bf16"),
        ("allenai/OLMo-2-1124-7B-Instruct", "olmo-2-1124-7b", "bf16"),
        ("moonshotai/Kimi-K2-Instruct", "kimi-k2", "fp8_block"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2-0905", "fp8_block"),
        ("moonshotai/Kimi-K2-Thinking", "kimi-k2-thinking", "int4_g32"),
        ("XiaomiMiMo/MiMo-7B-RL", "mimo-7b", "bf16"),
        ("zai-org/GLM-4.6-FP8", "glm-4.6", "fp8"),
        ("Kimi K2.5", "kimi-k2.5", "int4_g32"),
        ("DeepSeek R1 0528", "deepseek-r1", "fp8_block"),
        ("DeepSeek-R1-0528-FP4-v2", "deepseek-r1", "nvfp4"),
        ("DeepSeek R1 0528 FP4", "deepseek-r1", "nvfp4"),
        ("GPT OSS 120B", "gpt-oss-120b", "mxfp4"),
        ("meta-llama/Llama 3.1  70B Instruct", "llama-3.1-70b", "bf16"),
    ],
)
def test_published_ids(published: str, name: str, precision: str) -> None:
    found = models.model(published)
    assert (found.name, found.precision.name) == (name, precision)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Qwen3.5", "which of qwen3.5-122b, qwen3.5-27b, qwen3.5-35b, qwen3.5-397b?"),
        ("lama-3.1-8b", "did you mean 'llama-3.1-8b'?"),
        ("Claude", "`racktwin show models` lists them"),
    ],
)
def test_an_unknown_name_gets_a_plausible_one(text: str, hint: str) -> None:
    with pytest.raises(BadInput) as fault:
        models.model(text)
    assert hint in str(fault.value)


def test_every_name_means_itself_in_every_format() -> None:
    known = models.names()
    for name in known:
        assert identifier.find(name.upper(), known) == (name, "")
        assert identifier.find(f"org/{name}-Instruct-FP8", known)[1] == "fp8"


def test_of_several_alike_the_plain_one_is_meant() -> None:
    known = ["m-7b-thinking", "m-7b", "m-7b-2507"]
    assert identifier.find("M-7B-Instruct", known) == ("m-7b", "")
    assert identifier.find("M-7B-2507-AWQ", known) == ("m-7b-2507", "int4")
    assert identifier.find("M-7B-2601", known) == ("m-7b", "")
    assert identifier.find("M-8B", known) == (None, "")
