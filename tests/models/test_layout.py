"""Which layouts are legal, and what is said about those that are not."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import models
from racktwin.finding import BadInput, Finding
from racktwin.models import Architecture, Attention, Dense, Experts, Layer, Layout, Precision
from racktwin.models.layout import check, legal_tensor_sizes
from racktwin.models.pipeline import stages


def hard(findings: list[Finding]) -> list[str]:
    return [str(finding) for finding in findings if not finding.note]


def moe(intermediate: int) -> Architecture:
    mixer = Attention(heads=32, kv_heads=8, head_dim=128)
    layer = Layer(mixer, Experts(experts=128, top_k=6, intermediate=intermediate))
    return Architecture(name="moe", hidden=1024, vocab=100, layers=(layer,) * 4, context=4096)


def test_a15_legal_tensor_sizes() -> None:
    qwen = models.model("qwen2.5-7b").architecture  # 28 heads, 4 key-value heads
    assert legal_tensor_sizes(qwen) == [1, 2, 4, 7, 14, 28]
    assert legal_tensor_sizes(qwen, "split") == [1, 2, 4]
    assert legal_tensor_sizes(qwen, "copied") == [1, 2, 4, 28]
    (finding,) = check(Layout(tensor=8), qwen, Precision())
    assert str(finding) == (
        "tensor: 8 ranks cannot split 28 attention heads evenly; use 1, 2, 4, 7, 14 or 28"
    )


def test_h01_tensor_cuts_through_nvfp4_groups() -> None:
    precision = Precision(experts="nvfp4")
    for ranks in (1, 2, 4):
        layout = Layout(tensor=ranks, expert_tensor=ranks)
        assert hard(check(layout, moe(1856), precision)) == []
    (text,) = hard(check(Layout(tensor=8, expert_tensor=8), moe(1856), precision))
    assert text == (
        "expert_tensor: expert width 1,856 / 8 = 232 is not a multiple of 16, the group of nvfp4;"
        " use 1, 2 or 4, or pad to 1,920"
    )
    assert hard(check(Layout(tensor=8, expert_tensor=8), moe(1920), precision)) == []
    assert hard(check(Layout(tensor=8, expert_tensor=8), moe(1856), Precision())) == []


def test_experts_that_do_not_divide() -> None:
    found = models.model("deepseek-r1")
    layout = Layout(attention_data=24, expert=24)
    (text,) = hard(check(layout, found.architecture, found.precision))
    assert text == (
        "expert: 24 ranks cannot hold deepseek-r1's 256 experts evenly;"
        " add redundant experts (slots: 264) or use 16 or 32"
    )
    assert hard(check(layout, found.architecture, found.precision, spare_experts=8)) == []


def test_experts_fill_the_stage() -> None:
    found = models.model("deepseek-r1")
    (text,) = hard(check(Layout(tensor=8, expert=4), found.architecture, found.precision))
    assert text.startswith("expert: 4 x expert_tensor 1 = 4 ranks, but a stage has tensor 8")


def test_a_dense_model_has_no_experts() -> None:
    found = models.model("llama-3.1-8b")
    layout = Layout(tensor=2, expert=2)
    assert hard(check(layout, found.architecture, found.precision)) == [
        "expert: llama-3.1-8b has no experts; use 1"
    ]


def test_block_scaled_weights_of_qwen3_235b_at_tensor_8() -> None:
    """vLLM refuses it too: 1,536 / 8 = 192 against blocks of 128."""
    found = models.model("Qwen/Qwen3-235B-A22B-FP8")
    bad = Layout(tensor=8, expert_tensor=8)
    assert any(
        "= 192 is not" in text for text in hard(check(bad, found.architecture, found.precision))
    )
    good = Layout(tensor=8, expert=8)
    assert hard(check(good, found.architecture, found.precision)) == []


def test_more_stages_than_layers() -> None:
    found = models.model("llama-3.1-8b")
    assert hard(check(Layout(pipeline=33), found.architecture, found.precision)) == [
        "pipeline: 33 stages cannot share 32 layers; use at most 32"
    ]


@pytest.mark.parametrize("value", [0, -1, 10**9, True, 2.0, "2", None, float("nan")])
def test_degrees_are_whole_numbers(value: object) -> None:
    layout = msgspec.structs.replace(Layout(), tensor=value)
    (finding,) = check(layout, moe(64), Precision())
    assert finding.key == "tensor"


def test_all_faults_at_once() -> None:
    found = models.model("qwen2.5-7b")
    layout = Layout(tensor=3, pipeline=29, expert=5)
    keys = {finding.key for finding in check(layout, found.architecture, found.precision)}
    assert keys == {"tensor", "pipeline", "expert"}


@given(heads=st.integers(1, 200), copies=st.integers(1, 20))
def test_legal_sizes_divide_the_heads(heads: int, copies: int) -> None:
    layer = Layer(
        Attention(heads=heads * copies, kv_heads=heads, head_dim=8), Dense(intermediate=8)
    )
    shape = Architecture(name="x", hidden=8, vocab=8, layers=(layer,), context=8)
    legal = legal_tensor_sizes(shape)
    assert legal == [t for t in range(1, heads * copies + 1) if heads * copies % t == 0]
    assert set(legal_tensor_sizes(shape, "split")) == {t for t in legal if heads % t == 0}
    assert set(legal_tensor_sizes(shape, "split")) <= set(legal_tensor_sizes(shape, "copied"))


@given(layers=st.integers(1, 300), pipeline=st.integers(1, 64))
def test_stages_hold_every_layer_once(layers: int, pipeline: int) -> None:
    if pipeline > layers:
        with pytest.raises(BadInput, match="cannot share"):
            stages(layers, pipeline)
        return
    held = stages(layers, pipeline)
    assert [index for stage in held for index in stage] == list(range(layers))
    sizes = [len(stage) for stage in held]
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)  # the last stage also holds the head


@pytest.mark.parametrize("split", [(1, 2), (4,), (0, 4), (2, 2, 0), (-1, 5)])
def test_a_wrong_split_is_refused(split: tuple[int, ...]) -> None:
    with pytest.raises(BadInput):
        stages(4, 2, split)
