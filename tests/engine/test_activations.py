"""Tensors alive in a step."""

import pytest

from racktwin.engine.activations import exchanged, widths
from racktwin.models import Layout, model


def test_a_dense_layer_by_hand() -> None:
    shape = model("llama-3.1-8b").architecture
    assert widths(shape, Layout()) == (3 * 4096 + 3 * 14336,)
    assert widths(shape, Layout(tensor=4)) == (3 * 4096 + 3 * 14336 / 4,)


def test_experts_by_hand() -> None:
    shape = model("qwen3-235b-a22b").architecture
    (width,) = widths(shape, Layout(tensor=4, expert_tensor=4))
    assert width == 3 * 4096 + 8 * (2 * 4096 + 3 * 1536 / 4)


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_experts_spread_over_ranks_work_on_the_tokens_of_all(ranks: int) -> None:
    shape = model("deepseek-r1").architecture
    (width,) = widths(shape, Layout(attention_data=ranks, expert=ranks))
    (alone,) = widths(shape, Layout())
    assert width == alone


def test_each_stage_has_its_own_peak() -> None:
    shape = model("deepseek-r1").architecture  # 3 dense layers of 18,432, then experts
    first, second = widths(shape, Layout(pipeline=2), (3, 58))
    assert first == 3 * 7168 + max(3 * 18432, first - 3 * 7168)
    assert second >= 3 * 7168 + 8 * (2 * 7168 + 3 * 2048)


def test_an_exchange_holds_what_goes_and_comes() -> None:
    shape = model("deepseek-r1").architecture
    assert exchanged(shape, Layout(attention_data=16, expert=16)) == 2 * 8 * 7168
    assert exchanged(shape, Layout(attention_data=4, expert=4)) == 2 * 4 * 7168
    assert exchanged(shape, Layout(tensor=8, expert_tensor=8)) == 0
    assert exchanged(model("llama-3.1-8b").architecture, Layout(attention_data=4)) == 0
