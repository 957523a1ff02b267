"""Parameter counts against what the makers publish, and against hand arithmetic."""

from __future__ import annotations

import msgspec
import pytest

from racktwin import models
from racktwin.models import Architecture, Attention, Dense, Experts, Layer, Recurrent

BILLION = 1e9

# name: (total, active, source). total: billions, with the image encoder unless the source says
# text only, without draft layers. active: without input embedding and image encoder, with head.
CARDS = "Hugging Face model card"
COUNT = "weight count shown by Hugging Face"
PUBLISHED: dict[str, tuple[float, float | None, str]] = {
    "deepseek-r1": (671.0, 37.0, "arXiv 2412.19437"),
    "deepseek-r1-distill-qwen-1.5b": (1.78, None, COUNT),
    "deepseek-v2-lite": (15.7, 2.4, "arXiv 2405.04434"),
    "deepseek-v3": (671.0, 37.0, "arXiv 2412.19437"),
    "deepseek-v3.1": (671.0, 37.0, CARDS),
    "deepseek-v4-flash": (284.0, 13.0, CARDS),
    "falcon-180b": (180.0, None, CARDS),
    "falcon3-10b": (10.3, None, COUNT),
    "falcon3-7b": (7.46, None, COUNT),
    "gemma-2-27b": (27.2, None, COUNT),
    "gemma-2-2b": (2.61, None, COUNT),
    "gemma-2-9b": (9.24, None, COUNT),
    "gemma-3-12b": (12.2, None, COUNT),
    "gemma-3-1b": (1.0, None, COUNT),
    "gemma-3-27b": (27.4, None, COUNT),
    "gemma-3-4b": (4.3, None, COUNT),
    "gemma-4-31b": (31.3, None, "30.7 B text and 0.55 B image encoder, Google's card"),
    "glm-4.5": (355.0, 32.0, CARDS),
    "glm-5": (744.0, 40.0, CARDS),
    "glm-5.2": (744.0, 40.0, CARDS),
    "gpt-oss-120b": (116.83, 5.13, "arXiv 2508.10925, table 1"),
    "gpt-oss-20b": (20.91, 3.61, "arXiv 2508.10925, table 1"),
    "kimi-k2": (1026.0, 32.0, "arXiv 2507.20534 and weight count"),
    "kimi-k2-thinking": (1026.0, 32.0, "arXiv 2507.20534 and weight count"),
    "kimi-k2.5": (1026.0, 32.0, "arXiv 2507.20534 and weight count"),
    "kimi-k3": (2800.0, None, COUNT),
    "llama-2-13b": (13.0, None, COUNT),
    "llama-2-70b": (68.98, None, COUNT),
    "llama-2-7b": (6.74, None, COUNT),
    "llama-3.1-405b": (405.9, None, COUNT),
    "llama-3.1-70b": (70.6, None, COUNT),
    "llama-3.1-8b": (8.03, None, COUNT),
    "llama-3.2-1b": (1.23, None, CARDS),
    "llama-3.2-3b": (3.21, None, CARDS),
    "llama-3.3-nemotron-super-49b": (49.9, None, COUNT),
    "llama-4-maverick": (402.0, None, COUNT),
    "llama-4-scout": (109.0, None, COUNT),
    "mimo-v2-flash": (309.0, 15.0, CARDS),
    "minimax-m2.5": (229.0, None, COUNT),
    "mistral-7b": (7.25, None, COUNT),
    "mistral-large-2411": (123.0, None, CARDS),
    "mistral-nemo-2407": (12.2, None, COUNT),
    "mistral-small-2409": (22.2, None, COUNT),
    "mistral-small-24b-2501": (23.6, None, COUNT),
    "mistral-small-3.1-24b-2503": (24.0, None, COUNT),
    "mixtral-8x22b": (141.0, 39.0, "Mistral AI announcement"),
    "mixtral-8x7b": (46.7, 12.9, "arXiv 2401.04088"),
    "nemotron-3-nano-30b": (31.6, 3.2, CARDS),
    "nemotron-3-super-120b": (120.6, 12.1, CARDS),
    "nemotron-3-ultra-550b": (550.0, 55.0, "its name"),
    "nemotron-h-56b": (56.3, None, COUNT),
    "olmo-2-0325-32b": (32.2, None, COUNT),
    "olmo-2-1124-13b": (13.7, None, COUNT),
    "olmo-2-1124-7b": (7.3, None, COUNT),
    "phi-3-mini": (3.82, None, "arXiv 2404.14219"),
    "phi-3.5-moe": (41.9, 6.6, CARDS),
    "phi-4": (14.7, None, COUNT),
    "phi-4-mini": (3.84, None, COUNT),
    "qwen2.5-0.5b": (0.49, None, CARDS),
    "qwen2.5-1.5b": (1.54, None, CARDS),
    "qwen2.5-14b": (14.7, None, CARDS),
    "qwen2.5-32b": (32.5, None, CARDS),
    "qwen2.5-3b": (3.09, None, CARDS),
    "qwen2.5-72b": (72.7, None, CARDS),
    "qwen2.5-vl-72b": (73.4, None, COUNT),
    "qwen2.5-vl-7b": (8.29, None, COUNT),
    "qwen3-0.6b": (0.6, None, CARDS),
    "qwen3-14b": (14.8, None, CARDS),
    "qwen3-235b-a22b": (235.1, 22.1, CARDS),
    "qwen3-30b-a3b": (30.5, None, CARDS),
    "qwen3-32b": (32.8, None, CARDS),
    "qwen3-4b": (4.0, None, CARDS),
    "qwen3-8b": (8.2, None, CARDS),
    "qwen3-coder-480b": (480.0, 35.0, CARDS),
    "qwen3-next-80b": (80.0, None, CARDS),
    "qwen3-vl-235b": (236.0, 22.1, COUNT),
    "qwen3-vl-30b": (31.0, None, COUNT),
    "qwen3.5-397b": (397.0, None, CARDS),
    "seed-oss-36b": (36.0, None, COUNT),
    "step-3.7-flash": (196.0, None, "Step-3.5-Flash card"),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published(name: str) -> None:
    total, active, source = PUBLISHED[name]
    counted = models.parameters(models.model(name).architecture)
    assert source
    assert counted.total == pytest.approx(total * BILLION, rel=0.01)
    if active is not None:
        assert counted.active == pytest.approx(active * BILLION, rel=0.03)


def test_enough_models_are_published() -> None:
    assert len(PUBLISHED) >= 20
    assert sum(active is not None for _, active, _ in PUBLISHED.values()) >= 20


def _one(layer: Layer, **more: int) -> Architecture:
    return Architecture(name="x", hidden=8, vocab=10, layers=(layer,), context=99, **more)


def test_dense_layer_by_hand() -> None:
    layer = Layer(Attention(heads=4, kv_heads=2, head_dim=3), Dense(intermediate=16))
    counted = models.parameters(_one(layer))
    attention = 8 * 12 + 2 * (8 * 6)  # queries; keys and values
    assert counted.parts["attention"] == attention
    assert counted.parts["output"] == 12 * 8
    assert counted.parts["dense"] == 3 * 8 * 16
    assert counted.parts["norm"] == 3 * 8  # two in the layer, one behind it
    assert counted.total == attention + 96 + 384 + 24 + 2 * 80
    assert counted.active == counted.total - 80


def test_experts_by_hand() -> None:
    experts = Experts(experts=5, top_k=2, intermediate=6, shared=7, gated=False, latent=4)
    counted = models.parameters(_one(Layer(None, experts)))
    assert counted.parts["experts"] == 5 * 2 * 4 * 6
    assert counted.parts["shared"] == 2 * 8 * 7 + 2 * 8 * 4
    assert counted.parts["router"] == 5 * 8 + 5  # with its correction bias
    assert counted.total - counted.active == 3 * 2 * 4 * 6 + 80


def test_tied_head_counts_once_and_is_active() -> None:
    layer = Layer(None, Dense(intermediate=16))
    tied, apart = _one(layer, tied=True), _one(layer)
    assert models.parameters(apart).total - models.parameters(tied).total == 80
    assert models.parameters(apart).active == models.parameters(tied).active


def test_mamba_by_hand() -> None:
    mamba = Recurrent(kind="mamba2", key_heads=2, value_heads=3, key_dim=4, value_dim=5, conv=4)
    counted = models.parameters(_one(Layer(mamba, None)))
    projections = 8 * (2 * 15 + 2 * 8 + 3) + 15 * 8
    convolution = (15 + 2 * 8) * 4
    assert counted.parts["recurrent"] == projections + convolution


def test_deepseek_r1_by_hand() -> None:
    """61 layers of latent attention, 3 dense, 58 of 256 experts and a shared one."""
    latent = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    expert = 3 * 7168 * 2048
    matrices = (
        61 * latent + 3 * 3 * 7168 * 18432 + 58 * (257 * expert + 256 * 7168) + 2 * 129280 * 7168
    )
    counted = models.parameters(models.model("deepseek-r1").architecture)
    assert counted.total == pytest.approx(matrices, rel=1e-5)
    active = matrices - 58 * 248 * expert - 129280 * 7168
    assert counted.active == pytest.approx(active, rel=1e-4)


def test_every_part_is_counted_once() -> None:
    for name in models.names():
        counted = models.parameters(models.model(name).architecture)
        assert sum(counted.parts.values()) == counted.total
        assert 0 < counted.active <= counted.total


def test_hypothetical_has_a_hundred_trillion() -> None:
    found = models.model("hypothetical-100t-moe")
    assert models.parameters(found.architecture).total == pytest.approx(100e12, rel=0.01)
    assert found.kind == "assumed"


def test_order_of_layers_does_not_matter() -> None:
    found = models.model("gpt-oss-20b").architecture
    turned = msgspec.structs.replace(found, layers=found.layers[::-1], name="turned")
    assert models.parameters(turned) == models.parameters(found)
