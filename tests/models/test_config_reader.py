"""Configs of every kind become one architecture; public cases of odd ones; hostile ones."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import models
from racktwin.finding import BadInput
from racktwin.models import Attention, Dense, Experts, LatentAttention, Recurrent
from racktwin.models.config_reader import LARGEST_FILE, load, read

MIXTRAL: dict[str, Any] = {
    "model_type": "mixtral",
    "hidden_size": 6144,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "num_hidden_layers": 56,
    "head_dim": None,
    "intermediate_size": 16384,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 32768,
    "sliding_window": None,
}
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def faults(config: Any) -> list[str]:
    with pytest.raises(BadInput) as raised:
        read(config)
    return [finding.key for finding in raised.value.findings]


def test_every_shared_config_loads_or_says_why(shared: Path) -> None:
    loaded, refused = 0, 0
    for file in sorted((shared / "models/configs").glob("*.json")):
        if file.name.endswith("hf_quant_config.json"):
            with pytest.raises(BadInput, match="hf_quant_config"):
                models.model(file)
            refused += 1
            continue
        found = models.model(file)
        assert models.parameters(found.architecture).total > 1e8
        assert models.weight_bytes(found.architecture, found.precision) > 1e8
        loaded += 1
    assert (loaded, refused) == (89, 28)


def test_d01_null_head_dim() -> None:
    found = read(MIXTRAL).architecture
    assert found.layers[0].mixer == Attention(heads=48, kv_heads=8, head_dim=128)
    assert models.kv_bytes_per_token(found) == 229_376


def test_d03_rope_type_without_type_and_context_not_multiplied() -> None:
    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    }
    assert read(LLAMA | {"rope_scaling": scaling}).architecture.context == 131_072


def test_d05_head_missing_on_disk(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA | {"tie_word_embeddings": False}))
    names = {"model.embed_tokens.weight": "a", "model.layers.0.mlp.up_proj.weight": "a"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    found = models.model(tmp_path)
    assert "stores no lm_head" in str(found.notes[0])
    assert models.parameters(found.architecture).head == 0
    index.write_text(json.dumps({"weight_map": names | {"lm_head.weight": "b"}}))
    with_head = models.model(tmp_path)
    assert not with_head.notes
    added = models.checkpoint_bytes(with_head.architecture, with_head.precision)
    added -= models.checkpoint_bytes(found.architecture, found.precision)
    assert added == 2 * 128_256 * 4096


def test_d07_packed_int4_counts_weights_not_storage() -> None:
    found = models.model("kimi-k2.5")
    assert found.precision.experts == "int4_g32"
    assert (found.precision.attention, found.precision.shared) == ("bf16", "bf16")
    drafts = models.parameters(found.architecture).mtp
    assert models.parameters(found.architecture).total + drafts == pytest.approx(1.03e12, rel=0.01)


def test_d11_heads_times_head_dim_is_not_hidden() -> None:
    config = LLAMA | {"hidden_size": 6144, "num_attention_heads": 64, "head_dim": 128}
    found = read(config).architecture
    parts = models.parameters(found).parts
    assert parts["output"] == 32 * 6144 * 8192
    assert parts["attention"] == 32 * 6144 * (8192 + 2 * 8 * 128)


def test_d13_no_shared_experts_and_plain_queries() -> None:
    config = {
        "model_type": "deepseek_v2",
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "n_shared_experts": 0,
        "q_lora_rank": None,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 8,
        "first_k_dense_replace": 1,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "intermediate_size": 128,
    }
    found = read(config).architecture
    assert [type(layer.feedforward) for layer in found.layers] == [Dense, Experts, Experts]
    latent, experts = found.layers[1].mixer, found.layers[1].feedforward
    assert isinstance(latent, LatentAttention)
    assert isinstance(experts, Experts)
    assert (latent.q_rank, experts.shared) == (0, 0)
    parts = models.parameters(found).parts
    assert "shared" not in parts
    assert parts["attention"] == 3 * 64 * (4 * 12 + 16 + 4) + 3 * 16 * 4 * 16


def test_gpt_oss_alternates_windows() -> None:
    layers = models.model("gpt-oss-120b").architecture.layers
    windows = [layer.mixer.window for layer in layers if isinstance(layer.mixer, Attention)]
    assert windows == [128, 0] * 18


def test_llama_4_interleaves_experts_and_chunks() -> None:
    layers = models.model("llama-4-maverick").architecture.layers
    assert [isinstance(layer.feedforward, Experts) for layer in layers] == [False, True] * 24
    assert [layer.mixer.window for layer in layers if isinstance(layer.mixer, Attention)] == [
        8192, 8192, 8192, 0
    ] * 12  # fmt: skip


def test_mimo_has_other_heads_in_windowed_layers() -> None:
    mixers = [layer.mixer for layer in models.model("mimo-v2-flash").architecture.layers]
    assert mixers[0] == Attention(heads=64, kv_heads=4, head_dim=192, value_dim=128)
    assert mixers[1] == Attention(heads=64, kv_heads=8, head_dim=192, value_dim=128, window=128)


def test_hybrids_list_their_layers() -> None:
    nano = models.model("nemotron-3-nano-30b").architecture
    assert nano.layers[0].feedforward is None
    assert isinstance(nano.layers[0].mixer, Recurrent)
    assert nano.layers[1].mixer is None
    assert nano.layers[1].feedforward == Experts(
        experts=128, top_k=6, intermediate=1856, shared=3712, gated=False, gate="sigmoid"
    )
    kimi = models.model("kimi-k3").architecture
    linear = [isinstance(layer.mixer, Recurrent) for layer in kimi.layers]
    assert linear == [True, True, True, False] * 23 + [False]


def test_some_indexers_are_shared() -> None:
    glm = models.model("glm-5.2").architecture
    own = [
        index
        for index, layer in enumerate(glm.layers)
        if isinstance(layer.mixer, LatentAttention)
        and layer.mixer.indexer
        and not layer.mixer.indexer.shared
    ]
    assert own == [0, 1, 2, *range(6, 78, 4)]


@pytest.mark.parametrize(
    "config",
    [None, [], 7, "text", {}, {"a": None}, dict.fromkeys(LLAMA)],
)
def test_what_is_no_config(config: Any) -> None:
    assert faults(config)


@pytest.mark.parametrize("bad", [0, -1, 1e300, float("nan"), float("inf"), "8", [], {}, True, 1.5])
def test_every_bad_value_is_named(bad: Any) -> None:
    names = ["hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size"]
    found = faults(LLAMA | dict.fromkeys(names, bad))
    assert set(names) <= set(found)
    assert len(found) == len(set(found))


def test_impossible_shapes() -> None:
    assert "num_key_value_heads" in faults(LLAMA | {"num_key_value_heads": 5})
    assert "num_experts_per_tok" in faults(MIXTRAL | {"num_experts_per_tok": 9})
    assert "layer_types" in faults(LLAMA | {"layer_types": ["full_attention"] * 31})
    assert "layer_types" in faults(LLAMA | {"layer_types": [["full_attention"]] * 32})
    assert "is_encoder_decoder" in faults(LLAMA | {"is_encoder_decoder": True})


def test_files(tmp_path: Path) -> None:
    cases = {
        "large.json": b" " * (LARGEST_FILE + 1),
        "deep.json": b"[" * 200_000,
        "cut.json": b'{"hidden_size": 40',
        "binary.json": b"\xff\xfe\x00",
        "digits.json": b'{"hidden_size": 1' + b"0" * 9000 + b"}",
        "empty.json": b"",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInput, match=name):
            load(tmp_path / name)
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "absent.json")
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = sorted(
    {
        *LLAMA,
        *MIXTRAL,
        "layer_types",
        "compress_ratios",
        "kv_lora_rank",
        "moe_layer_freq",
        "index_topk",
    }
    | {
        "mlp_only_layers",
        "hybrid_override_pattern",
        "block_configs",
        "text_config",
        "vision_config",
    }
    | {"quantization_config", "linear_attn_config", "sparse_attention_config", "rope_scaling"}
    | {"sliding_window", "attn_type_list", "num_nextn_predict_layers", "full_attention_interval"}
)


@given(changes=st.dictionaries(st.sampled_from(KEYS), anything, max_size=6), base=st.booleans())
def test_any_config_is_read_or_refused(changes: dict[str, Any], base: bool) -> None:
    with contextlib.suppress(BadInput):
        found = read((LLAMA if base else MIXTRAL) | changes)
        assert models.parameters(found.architecture).total > 0
