"""Bytes of weights: on disk, on one GPU, and that nothing is lost between the ranks."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import models
from racktwin.models import Layout, Precision
from racktwin.models.parameters import stage_parts

GIB = 2**30


def test_a01_checkpoint_of_gpt_oss() -> None:
    found = models.model("gpt-oss-120b")
    on_disk = models.checkpoint_bytes(found.architecture, found.precision)
    assert on_disk == pytest.approx(65_248_815_744, rel=0.01)


def test_a05_weights_of_llama_405b_fp8() -> None:
    found = models.model("meta-llama/Llama-3.1-405B-Instruct-FP8")
    per_gpu = models.weight_bytes(found.architecture, found.precision, Layout(tensor=8))
    assert per_gpu / GIB == pytest.approx(57.752, rel=0.02)


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("kimi-k2.5", 595),  # size of the published files, experts int4 in groups of 32
        ("deepseek-v4-flash", 160),  # experts MXFP4, the rest block-scaled FP8
        ("qwen3-32b", 65.5),
    ],
)
def test_published_file_sizes(name: str, gigabytes: float) -> None:
    found = models.model(name)
    on_disk = models.checkpoint_bytes(found.architecture, found.precision)
    assert on_disk / 1e9 == pytest.approx(gigabytes, rel=0.02)


def test_d05_a_head_that_is_not_stored_is_not_counted() -> None:
    found = models.model("qwen3-8b")
    whole = models.checkpoint_bytes(found.architecture, found.precision)
    headless = models.checkpoint_bytes(found.architecture, found.precision, head=False)
    assert whole - headless == 2 * 151_936 * 4096


def test_bf16_is_two_bytes_a_weight() -> None:
    for name in ("llama-3.1-70b", "qwen3.5-397b", "nemotron-3-super-120b", "deepseek-v3.2"):
        found = models.model(name).architecture
        total = models.parameters(found).total
        assert models.weight_bytes(found, Precision()) == pytest.approx(2 * total)


def test_latent_attention_keeps_its_small_projections_on_every_rank() -> None:
    found = models.model("deepseek-r1").architecture
    one, eight = (
        models.weight_parts(found, Precision(), Layout(tensor=t, expert=t))["attention"]
        for t in (1, 8)
    )
    copied = 2 * 61 * 7168 * (1536 + 576)
    assert eight - copied == pytest.approx((one - copied) / 8)


def test_few_key_value_heads_are_copied() -> None:
    found = models.model("qwen3-235b-a22b").architecture
    parts = [
        models.weight_parts(found, Precision(), Layout(tensor=t, expert=t))["attention"]
        for t in (4, 8)
    ]
    queries, keys = 64 * 128, 4 * 128
    assert parts[0] == 2 * 94 * 4096 * (queries + 2 * keys) / 4
    assert parts[1] == 2 * 94 * 4096 * (queries / 8 + 2 * 128)


def test_experts_spread_over_the_stage() -> None:
    found = models.model("deepseek-r1").architecture
    expert = 3 * 7168 * 2048 * 58 * 2
    spread = Layout(attention_data=32, expert=32)
    assert models.weight_parts(found, Precision(), spread)["experts"] == 8 * expert
    spare = models.weight_parts(found, Precision(), spread, spare_experts=32)["experts"]
    assert spare == 9 * expert
    halves = Layout(tensor=32, expert=16, expert_tensor=2)
    assert models.weight_parts(found, Precision(), halves)["experts"] == 16 * expert / 2


def test_drafts_are_loaded_on_request() -> None:
    found = models.model("deepseek-r1")
    sizes = [
        models.weight_bytes(found.architecture, found.precision, mtp=mtp) for mtp in (False, True)
    ]
    layer = 257 * 3 * 7168 * 2048
    assert sizes[1] - sizes[0] == pytest.approx(layer, rel=0.05)


def test_a_single_layer_may_differ() -> None:
    found = models.model("llama-3.1-8b").architecture
    fp8 = Precision(dense="fp8")
    apart = msgspec.structs.replace(fp8, layers=((0, "dense", "bf16"), (31, "dense", "bf16")))
    added = models.weight_bytes(found, apart) - models.weight_bytes(found, fp8)
    assert added == 2 * 3 * 4096 * 14336


def test_a_tied_embedding_stands_at_both_ends_of_a_pipeline() -> None:
    found = models.model("gemma-4-31b").architecture
    stages = stage_parts(found, Precision(), Layout(pipeline=3))
    assert [stage.get("embedding", 0) for stage in stages] == [
        2 * 262_144 * 5376,
        0,
        2 * 262_144 * 5376,
    ]


@given(
    tensor=st.sampled_from([1, 2, 4, 8]),
    data=st.sampled_from([1, 2, 8]),
    pipeline=st.integers(1, 6),
    name=st.sampled_from(["gpt-oss-120b", "deepseek-v3", "qwen3.5-122b", "glm-5"]),
)
def test_all_ranks_together_hold_at_least_the_model(
    tensor: int, data: int, pipeline: int, name: str
) -> None:
    found = models.model(name)
    layout = Layout(tensor=tensor, attention_data=data, pipeline=pipeline, expert=tensor * data)
    stages = stage_parts(found.architecture, found.precision, layout)
    held = sum(sum(stage.values()) for stage in stages) * layout.stage
    whole = models.weight_bytes(found.architecture, found.precision)
    assert held >= whole * (1 - 1e-9)
    experts = sum(stage["experts"] for stage in stages) * layout.stage
    alone = models.weight_parts(found.architecture, found.precision)["experts"]
    assert experts == pytest.approx(alone)
    fullest = max(sum(stage.values()) for stage in stages)
    assert models.weight_bytes(found.architecture, found.precision, layout) == fullest
