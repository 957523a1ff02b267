"""Operators of a forward pass: shapes and counts by hand, and every weight met exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from racktwin.models import Architecture, Layout, Precision, Recurrent, model, names
from racktwin.models.forward import draft_operators, step_operators
from racktwin.models.mixer_operators import PART
from racktwin.models.operators import (
    AllReduce,
    Attend,
    AttendLatent,
    Exchange,
    Gather,
    Gemm,
    Grouped,
    Operator,
    Recur,
)
from racktwin.models.weights import layer_weights

MATRICES = {
    *("attention", "output", "indexer", "recurrent"),
    *("dense", "experts", "shared", "router"),
}
SEVENTY = model("llama-3.1-70b")
R1 = model("deepseek-r1")


def gemms(operators: Counter[Operator]) -> dict[tuple[str, int, int, str], int]:
    """(part, n, k, what drives its rows) -> how often."""
    return {
        (op.part, op.n, op.k, op.rows): count
        for op, count in operators.items()
        if isinstance(op, Gemm)
    }


def only(operators: Counter[Operator], kind: type) -> dict[Operator, int]:
    return {op: count for op, count in operators.items() if isinstance(op, kind)}


def test_llama_70b_on_four_ranks_by_hand() -> None:
    found = step_operators(SEVENTY.architecture, Layout(tensor=4), SEVENTY.at("fp8"))
    part = "attention projections"
    assert gemms(found) == {
        (part, 16 * 128 + 2 * 2 * 128, 8192, "tokens"): 80,
        (part, 8192, 16 * 128, "tokens"): 80,
        ("dense feed-forward", 2 * 28672 // 4, 8192, "tokens"): 80,
        ("dense feed-forward", 8192, 28672 // 4, "tokens"): 80,
        ("head", 128256 // 4, 8192, "samples"): 1,
    }
    assert only(found, AllReduce) == {AllReduce(2 * 8192, 4): 160}
    (attend,) = only(found, Attend)
    assert isinstance(attend, Attend)
    assert (attend.heads, attend.kv_heads, attend.head_dim, attend.window) == (16, 2, 128, 0)


def test_deepseek_r1_on_sixteen_attention_ranks_by_hand() -> None:
    layout = Layout(attention_data=16, expert=16)
    found = step_operators(R1.architecture, layout, R1.at("nvfp4"))
    part = "attention projections"
    assert gemms(found) == {
        (part, 1536 + 512 + 64, 7168, "tokens"): 61,
        (part, 128 * (128 + 64), 1536, "tokens"): 61,
        (part, 128 * (128 + 128), 512, "prefill"): 61,
        (part, 7168, 128 * 128, "tokens"): 61,
        ("dense feed-forward", 2 * 18432, 7168, "tokens"): 3,
        ("dense feed-forward", 7168, 18432, "tokens"): 3,
        ("router", 256, 7168, "tokens"): 58,
        ("shared experts", 2 * 2048, 7168, "tokens"): 58,
        ("shared experts", 7168, 2048, "tokens"): 58,
        ("head", 129280, 7168, "samples"): 1,
    }
    assert only(found, Exchange) == {Exchange(7168, 8, 256, 16, 0.5625, 2, 1.0): 58}
    assert only(found, Grouped) == {Grouped(7168, 2048, 8, 256, 16, 1, "nvfp4", True, 16): 58}
    assert not only(found, AllReduce)


def test_deepseek_r1_with_experts_cut_over_all_ranks_by_hand() -> None:
    layout = Layout(tensor=2, attention_data=4, expert_tensor=8)
    found = step_operators(R1.architecture, layout, R1.at("nvfp4"))
    assert gemms(found)["attention projections", 64 * 192, 1536, "tokens"] == 61
    assert gemms(found)["shared experts", 2 * 1024, 7168, "tokens"] == 58
    # each of 8 GPUs gives half of its attention-data rank's tokens, 2 bytes a value
    assert only(found, Gather) == {Gather(7168 * 2 / 2, 8): 58}
    assert only(found, Grouped) == {Grouped(7168, 2048, 8, 256, 1, 8, "nvfp4", True, 4): 58}
    assert only(found, AllReduce) == {AllReduce(2 * 7168, 2): 122}


def test_tensor_ranks_send_each_token_once() -> None:
    found = step_operators(R1.architecture, Layout(tensor=2, attention_data=4, expert=8), R1.at(""))
    (exchange,) = only(found, Exchange)
    assert isinstance(exchange, Exchange)
    assert (exchange.share, exchange.ranks) == (0.5, 8)


def multiplied(operators: Counter[Operator]) -> int:
    """Weights the operators multiply with."""
    total = 0
    for op, count in operators.items():
        if isinstance(op, Gemm):
            total += count * op.n * op.k
        elif isinstance(op, Grouped):
            matrices = 3 if op.gated else 2
            total += count * matrices * op.experts * op.hidden * op.intermediate
    return total


def stored(architecture: Architecture) -> int:
    """Weights of all matrices of the layers, and the head (a tied one is the embedding)."""
    layers = sum(
        count * weight.elements
        for layer, count in architecture.kinds.items()
        for weight in layer_weights(layer, architecture.hidden, architecture.streams)
        if weight.part in MATRICES
    )
    return layers + architecture.vocab * architecture.hidden


@pytest.mark.parametrize("name", names())
def test_every_matrix_is_multiplied_once(name: str) -> None:
    architecture = model(name).architecture
    found = step_operators(architecture, Layout(), Precision())
    # biases, convolutions and the correction of a router are stored but are no matrices
    assert multiplied(found) == pytest.approx(stored(architecture), rel=4e-4)


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_ranks_share_out_the_weights(tensor: int) -> None:
    whole = step_operators(SEVENTY.architecture, Layout(), Precision())
    part = step_operators(SEVENTY.architecture, Layout(tensor=tensor), Precision())
    assert tensor * multiplied(part) == multiplied(whole)


@pytest.mark.parametrize("name", names())
def test_every_layer_attends_or_scans_once(name: str) -> None:
    architecture = model(name).architecture
    found = step_operators(architecture, Layout(), Precision())
    mixers = [layer for layer in architecture.layers if layer.mixer is not None]
    runs = sum(
        count for op, count in found.items() if isinstance(op, Attend | AttendLatent | Recur)
    )
    assert runs == len(mixers)


def test_a_draft_is_one_layer_its_fusion_and_the_head() -> None:
    found = draft_operators(R1.architecture, Layout(), Precision())
    assert multiplied(found) == pytest.approx(
        sum(w.elements for w in layer_weights(R1.architecture.mtp[0], 7168) if w.part in MATRICES)
        + 2 * 7168 * 7168
        + 129280 * 7168,
        rel=1e-5,
    )


def test_a_draft_of_a_hybrid_has_its_experts_too() -> None:
    nemotron = model("nemotron-3-super-120b")
    assert [layer.feedforward is None for layer in nemotron.architecture.mtp] == [True, False]
    found = draft_operators(nemotron.architecture, Layout(), nemotron.precision)
    assert len(only(found, Grouped)) == 1
    assert len(only(found, Attend)) == 1


def test_drafts_run_in_their_own_precision() -> None:
    flash = model("deepseek-v4-flash")
    assert (flash.precision.experts, flash.precision.mtp) == ("mxfp4", "fp8_block")
    (grouped,) = only(draft_operators(flash.architecture, Layout(), flash.precision), Grouped)
    assert isinstance(grouped, Grouped)
    assert grouped.dtype == "fp8_block"


def test_a_gated_delta_layer_projects_four_times_as_its_checkpoint_stores_them() -> None:
    """Qwen3.5: 16 key and 64 value heads of 128; over 8 GPUs 2 and 8 of them."""
    qwen = model("qwen3.5-397b")
    found = step_operators(qwen.architecture, Layout(tensor=8, expert=8), Precision())
    layers = sum(isinstance(layer.mixer, Recurrent) for layer in qwen.architecture.layers)
    hidden, inner = qwen.architecture.hidden, 8 * 128
    wide = [
        (op.n, count)
        for op, count in found.items()
        if isinstance(op, Gemm) and op.part == PART and op.k == hidden
    ]
    assert {(2 * 2 * 128 + inner, layers), (inner, layers), (8, 2 * layers)} <= set(wide)
