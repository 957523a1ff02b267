"""Each convention of the published layout columns, on labels as they stand in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.evidence import label as labels
from racktwin.evidence.label import Label
from racktwin.finding import BadInput
from racktwin.models.layout import Layout


def read(tensor: int | None, data: int | None, split: int, expert: int, tag: str = "") -> Layout:
    written = Label(tensor=tensor, attention_data=data, expert_tensor=split, expert=expert)
    return labels.read(written, moe=True, identifier=tag).layout


@pytest.mark.parametrize(
    ("written", "tag", "layout"),
    [
        # As written: experts' ranks equal the attention's.
        ((8, 1, 8, 1), "", Layout(tensor=8, expert_tensor=8)),
        ((1, 8, 1, 8), "", Layout(attention_data=8, expert=8)),
        ((1, 4, 4, 1), "_tp4_ep1_296", Layout(attention_data=4, expert_tensor=4)),
        ((4, 1, 1, 4), "", Layout(tensor=4, expert=4)),
        # TP written as TP x EP.
        ((16, 1, 4, 4), "", Layout(tensor=4, expert=4)),
        ((64, 1, 8, 8), "_tp8_ep8_1552", Layout(tensor=8, expert=8)),
        ((4, 1, 2, 2), "_c16_tp2_ep2_927", Layout(tensor=2, expert=2)),
        ((4, None, 2, 2), "_c320_tp4_epnone_4", Layout(tensor=4, expert=2, expert_tensor=2)),
        # Attention-DP written as DP x EP.
        ((1, 16, 4, 4), "", Layout(attention_data=4, expert=4)),
        ((1, 64, 8, 8), "", Layout(attention_data=8, expert=8)),
        ((1, 4, 2, 2), "_c64_tp2_ep2_1994", Layout(attention_data=2, expert=2)),
        # TP and attention-DP both k, EP written k x k.
        ((2, 2, 1, 4), "", Layout(attention_data=2, expert=2)),
        ((4, 4, 1, 16), "_tp4_ep4_1377", Layout(attention_data=4, expert=4)),
        # Attention-DP empty.
        ((1, None, 4, 1), "", Layout(attention_data=4, expert_tensor=4)),
        ((2, None, 1, 2), "", Layout(tensor=2, expert=2)),
        # Zeros mean 1.
        ((8, 0, 0, 0), "", Layout(tensor=8, expert_tensor=8)),
    ],
)
def test_conventions(written: tuple[int, int | None, int, int], tag: str, layout: Layout) -> None:
    assert read(*written, tag=tag) == layout


def test_vllm_multiplies_ep_by_the_tp_of_the_replica() -> None:
    """Its scripts never split attention; the same runs stand as TP4 EP4, times and all."""
    written = Label(tensor=4, attention_data=4, expert_tensor=1, expert=16)
    found = labels.read(written, moe=True, identifier="_tp4_ep4_1377", engine="vllm")
    assert found == labels.Reading(Layout(tensor=4, expert=4), ("ep 16 is TP x EP",))


def test_dense_models_ignore_the_expert_columns() -> None:
    written = Label(tensor=2, attention_data=0, expert_tensor=8, expert=4)
    assert labels.read(written, moe=False).layout == Layout(tensor=2)


def test_contradictions_are_refused_with_the_numbers() -> None:
    with pytest.raises(BadInput, match="experts on 3 x 1 ranks, attention on 8 x 1"):
        read(8, 1, 3, 1)
    with pytest.raises(BadInput, match="layout is not known"):
        labels.read(Label(), moe=True)


def test_what_is_added_to_a_label_is_said() -> None:
    written = Label(tensor=64, attention_data=1, expert_tensor=8, expert=8)
    assert labels.read(written, moe=True).inferred == ("tp 64 multiplies TP by EP",)
    assert not labels.read(Label(tensor=8, expert_tensor=8), moe=True).inferred


@given(st.integers(1, 64), st.integers(0, 64), st.integers(0, 64), st.integers(0, 64))
def test_experts_always_cover_the_gpus_of_the_replica(t: int, d: int, s: int, e: int) -> None:
    try:
        layout = read(t, d, s, e)
    except BadInput:
        return
    assert layout.expert * layout.expert_tensor == layout.gpus


@pytest.mark.parametrize(
    ("gpus", "count", "prefill", "decode"),
    [(12, 1, 4, 8), (20, 1, 4, 16), (24, 2, 4, 16), (36, 1, 4, 32), (72, 10, 4, 32)],
)
def test_a_sum_is_split_into_pools_of_as_many_gpus(
    gpus: int, count: int, prefill: int, decode: int
) -> None:
    replicas, first, second = labels.split(gpus, 4)
    assert (replicas, first.gpus, second.gpus) == (count, prefill, decode)
    assert replicas * first.gpus + second.gpus == gpus
    assert labels.total(Label(tensor=gpus, attention_data=1, expert_tensor=gpus, expert=1)) == gpus


def test_an_ordinary_label_is_no_sum() -> None:
    assert labels.total(Label(tensor=8, attention_data=1, expert_tensor=8, expert=1)) is None
    assert labels.total(Label(tensor=16, attention_data=1, expert_tensor=4, expert=4)) is None
