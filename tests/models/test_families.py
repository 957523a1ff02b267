"""Older and rarer families: their other names for the same things, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from racktwin import models
from racktwin.finding import BadInput
from racktwin.models import Attention, Experts, Recurrent
from racktwin.models.config_reader import read

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_attention_heads": 8,
    "num_hidden_layers": 8,
    "intermediate_size": 4096,
    "vocab_size": 1000,
    "max_position_embeddings": 8192,
}
BLOOM = {
    "model_type": "bloom",
    "n_embed": 14336,
    "n_layer": 70,
    "num_attention_heads": 112,
    "vocab_size": 250880,
}
FALCON = {
    "model_type": "falcon",
    "hidden_size": 14848,
    "num_hidden_layers": 80,
    "num_attention_heads": 232,
    "num_kv_heads": 8,
    "vocab_size": 65024,
}
GPT_2 = {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257}
MISTRAL = LLAMA | {
    "model_type": "mistral",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 32000,
    "sliding_window": 4096,
    "max_position_embeddings": 32768,
}
QWEN_MOE = {
    "model_type": "qwen2_moe",
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "num_experts": 64,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2560,
    "shared_expert_intermediate_size": 20480,
    "intermediate_size": 18944,
    "vocab_size": 151936,
    "use_sliding_window": False,
    "sliding_window": 65536,
}


@pytest.mark.parametrize(
    ("config", "billions"),
    [(BLOOM, 176.2), (FALCON, 179.5), (GPT_2, 1.557), (MISTRAL, 7.24), (QWEN_MOE, 57.4)],
)
def test_published_sizes(config: dict[str, Any], billions: float) -> None:
    total = models.parameters(read(config).architecture).total
    assert total / 1e9 == pytest.approx(billions, rel=0.01)


def test_every_layer_of_mistral_has_the_window() -> None:
    mixers = {layer.mixer for layer in read(MISTRAL).architecture.layers}
    assert mixers == {Attention(heads=32, kv_heads=8, head_dim=128, window=4096)}


@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({"sliding_window": 8192}, [0] * 8),  # no shorter than the context
        ({"sliding_window": 4096, "use_sliding_window": False}, [0] * 8),
        ({"sliding_window": 64, "sliding_window_pattern": 4}, [64, 64, 64, 0] * 2),
        ({"sliding_window": 64, "model_type": "gemma2"}, [64, 0] * 4),
        ({"sliding_window": 64, "model_type": "qwen2", "max_window_layers": 6}, [0] * 6 + [64] * 2),
    ],
)
def test_windows(changes: dict[str, Any], windows: list[int]) -> None:
    layers = read(LLAMA | changes).architecture.layers
    assert [layer.mixer.window for layer in layers if isinstance(layer.mixer, Attention)] == windows


@pytest.mark.parametrize(
    ("config", "merge", "mergers"),
    [
        ({"mm_tokens_per_image": 256}, 4, 0),  # Gemma 3: 64 x 64 patches pooled to 16 x 16 tokens
        ({"spatial_merge_size": 2}, 2, 1),  # Mistral 3 says it outside the encoder
        ({}, 1, 1),
    ],
)
def test_patches_of_a_token(config: dict[str, Any], merge: int, mergers: int) -> None:
    encoder = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4}
    sizes = {"intermediate_size": 128, "patch_size": 14, "image_size": 896}
    found = read(config | {"text_config": LLAMA, "vision_config": encoder | sizes}).architecture
    assert found.vision is not None
    assert (found.vision.merge, found.vision.mergers) == (merge, mergers)


def test_bamba_lists_its_state_space_layers() -> None:
    keys = {
        "model_type": "bamba",
        "layers_block_type": ["mamba", "attention"] * 4,
        "mamba_n_heads": 16,
        "mamba_d_head": 64,
        "mamba_d_state": 128,
        "mamba_n_groups": 1,
        "mamba_d_conv": 4,
    }
    mixers = [layer.mixer for layer in read(LLAMA | keys).architecture.layers]
    state = Recurrent(kind="mamba2", key_heads=1, value_heads=16, key_dim=128, value_dim=64)
    assert mixers[0] == state
    assert mixers[1] == Attention(heads=8, kv_heads=8, head_dim=128)


def test_leading_and_sparse_steps() -> None:
    moe = QWEN_MOE | {"decoder_sparse_step": 2, "mlp_only_layers": [27]}
    routed = [isinstance(layer.feedforward, Experts) for layer in read(moe).architecture.layers]
    assert routed == [False, True] * 13 + [False, False]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (LLAMA | {"model_type": "jamba", "mamba_d_state": 16}, "state-space"),
        (LLAMA | {"model_type": "bert"}, "not a language model"),
        (LLAMA | {"is_encoder_decoder": True}, "encoder-decoder"),
        (LLAMA | {"intermediate_size": [64, 64]}, "a list of 2"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M*X"}, "layer type 'X'"),
        ({"_class_name": "UNet2DConditionModel"}, "missing"),
    ],
)
def test_refused_with_the_reason(config: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read(config)
