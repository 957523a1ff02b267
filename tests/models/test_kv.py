"""Cache and state sizes: public cases whose engines logged the answer, and closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import models
from racktwin.models import Architecture, Attention, Dense, Layer, Layout
from racktwin.models.kv import recurrent_bytes, stage_bytes_per_token

GIB = 2**30
MIB = 2**20


def plain(layers: int, kv_heads: int, head_dim: int, heads: int = 0) -> Architecture:
    mixer = Attention(heads=heads or 8 * kv_heads, kv_heads=kv_heads, head_dim=head_dim)
    return Architecture(
        name="x",
        hidden=1024,
        vocab=1000,
        layers=(Layer(mixer, Dense(intermediate=64)),) * layers,
        context=1_048_576,
    )


def test_a01_gpt_oss_charges_sliding_layers_in_full() -> None:
    gpt_oss = models.model("gpt-oss-120b").architecture
    uniform = models.kv_bytes_per_token(gpt_oss)
    assert uniform == 73_728
    assert models.kv_bytes_per_token(gpt_oss, pool="hybrid") == 36_864
    assert 5.38 * GIB / uniform == pytest.approx(78_384, rel=0.002)


def test_a03_qwen3_235b_tensor_4() -> None:
    qwen = models.model("Qwen/Qwen3-235B-A22B-FP8").architecture
    per_token = models.kv_bytes_per_token(qwen, "bf16", Layout(tensor=4, expert=4))
    assert per_token == 94 * 128 * 2 * 2
    assert 2 * 8.234 * GIB / per_token == pytest.approx(367_404, rel=0.001)


def test_a05_llama_405b_tensor_8() -> None:
    llama = models.model("llama-3.1-405b").architecture
    per_token = models.kv_bytes_per_token(llama, "bf16", Layout(tensor=8))
    assert per_token == 64_512
    assert 4.77 * GIB / per_token == pytest.approx(79_392, rel=0.001)


def test_a09_gemma_head_sizes_by_layer_kind() -> None:
    gemma = models.model("gemma-4-31b").architecture
    full = models.sequence_bytes(gemma, 262_144)
    assert full == 220.0 * GIB
    assert 20.13 * GIB / models.kv_bytes_per_token(gemma) == pytest.approx(23_984, rel=0.001)
    pooled = models.sequence_bytes(gemma, 262_144, pool="hybrid")
    assert pooled / GIB == pytest.approx(20.78, abs=0.005)


def test_a11_uneven_pipeline_split() -> None:
    coder = plain(48, 4, 128)
    layout = Layout(pipeline=2)
    per_stage = stage_bytes_per_token(coder, "bf16", layout, "uniform", (16, 32))
    assert per_stage == (32_768, 65_536)
    assert 3.18 * GIB / per_stage[0] == pytest.approx(104_202, rel=0.001)
    assert models.kv_bytes_per_token(coder) == 98_304
    assert models.kv_bytes_per_token(coder, layout=layout, split=(16, 32)) == 65_536


def test_a13_one_head_a_gpu() -> None:
    shape = plain(48, 8, 128)
    layout = Layout(tensor=8)
    assert models.sequence_bytes(shape, 1_048_576, layout=layout) == 24.0 * GIB
    assert models.kv_bytes_per_token(shape, layout=layout) == 24_576
    assert int(9.97 * GIB / 24_576) == pytest.approx(435_600, rel=1e-4)


def test_a17_fp8_cache() -> None:
    shape = plain(48, 4, 128)
    per_token = models.kv_bytes_per_token(shape, "fp8")
    assert per_token == 49_152
    assert 10.55 * GIB / per_token == pytest.approx(230_528, rel=0.001)
    assert models.sequence_bytes(shape, 221_000, "fp8") / GIB == pytest.approx(10.12, abs=0.005)
    assert 5.59 * GIB / per_token == pytest.approx(122_080, rel=0.001)


def test_a19_latent_cache() -> None:
    deepseek = models.model("deepseek-r1").architecture
    assert models.kv_bytes_per_token(deepseek) == 70_272
    assert models.sequence_bytes(deepseek, 80_128) / MIB == pytest.approx(5_369.91, abs=0.005)
    blocks = models.sequence_bytes(deepseek, 32_768, "q8_0") / MIB
    assert blocks == 1_166.625  # the thread prints 1166.62


def test_a21_only_full_attention_layers_hold_a_cache() -> None:
    qwen = models.model("qwen3.5-397b").architecture
    layout = Layout(tensor=2, expert=2)
    keys_and_values = models.kv_bytes_per_token(qwen, "bf16", layout)
    assert keys_and_values == 2 * 7_680
    assert 4.15 * GIB / (keys_and_values / 2) == pytest.approx(580_364, rel=0.001)
    state, tail = (
        sum(recurrent_bytes(layer.mixer, "fp32", 2)[part] for layer in qwen.layers)
        for part in (0, 1)
    )
    # 82 slots and a spare one
    assert 83 * state / GIB == pytest.approx(7.29, abs=0.01)
    assert 83 * tail / GIB == pytest.approx(0.13, abs=0.005)


def test_d01_mixtral_8x22b() -> None:
    assert models.kv_bytes_per_token(models.model("mixtral-8x22b").architecture) == 229_376


def test_latent_cache_is_not_split_by_tensor() -> None:
    deepseek = models.model("deepseek-r1").architecture
    split = models.kv_bytes_per_token(deepseek, "fp8", Layout(tensor=8, expert=8))
    assert split == models.kv_bytes_per_token(deepseek, "fp8") == 61 * 576


def test_heads_are_copied_where_ranks_outnumber_them() -> None:
    qwen = models.model("qwen3-235b-a22b").architecture
    four, eight = (models.kv_bytes_per_token(qwen, layout=Layout(tensor=t)) for t in (4, 8))
    assert four == eight == 94 * 128 * 2 * 2


def test_sparse_attention_adds_the_indexers_keys() -> None:
    v3, v32 = (models.model(name).architecture for name in ("deepseek-v3", "deepseek-v3.2"))
    added = models.kv_bytes_per_token(v32, "fp8") - models.kv_bytes_per_token(v3, "fp8")
    assert added == 61 * (128 + 4)
    assert models.kv_bytes_per_token(v32, "fp8_ds_mla") == 61 * (656 + 132)
    glm = models.model("glm-5.2").architecture  # 21 of 78 layers choose for the others
    assert models.kv_bytes_per_token(glm, "fp8") == 78 * 576 + 21 * 132


def test_compressed_attention_keeps_few_entries() -> None:
    flash = models.model("deepseek-v4-flash").architecture
    far = 21 * (1024 + 132) / 4 + 20 * 1024 / 128
    assert models.kv_bytes_per_token(flash) == pytest.approx(far)
    near = 43 * 128 * 1024
    assert models.sequence_bytes(flash, 1e6) == pytest.approx(1e6 * far + near)


@given(
    layers=st.integers(1, 80),
    pipeline=st.integers(1, 8),
    tensor=st.sampled_from([1, 2, 4, 8]),
    dtype=st.sampled_from(["bf16", "fp8", "q8_0"]),
)
def test_stages_and_ranks_together_hold_the_whole_cache(
    layers: int, pipeline: int, tensor: int, dtype: str
) -> None:
    shape = plain(layers, 8, 64)
    pipeline = min(pipeline, layers)
    layout = Layout(tensor=tensor, pipeline=pipeline)
    per_stage = stage_bytes_per_token(shape, dtype, layout)
    assert len(per_stage) == pipeline
    assert tensor * sum(per_stage) == pytest.approx(models.kv_bytes_per_token(shape, dtype))


@given(tokens=st.integers(0, 10**7))
def test_a_pool_of_windows_never_needs_more(tokens: int) -> None:
    for name in ("gpt-oss-20b", "gemma-4-26b", "mimo-v2-flash"):
        shape = models.model(name).architecture
        whole = models.sequence_bytes(shape, tokens)
        assert models.sequence_bytes(shape, tokens, pool="hybrid") <= whole
        assert whole == tokens * models.kv_bytes_per_token(shape)
