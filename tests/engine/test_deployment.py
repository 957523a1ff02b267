"""Deployments: what their pools come to, and what speculation gains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.epochs import epoch
from racktwin.models import Layout, model


def deployment(**pools: Pool) -> Deployment:
    found = model("deepseek-r1")
    return Deployment(
        model=found,
        cluster=hardware.cluster("azure-nd-gb300-v6"),
        engine=epoch("trtllm-1.3"),
        precision=found.at("nvfp4"),
        **pools,
    )


@given(tokens=st.integers(0, 16), acceptance=st.floats(0, 0.999))
def test_speculation_is_a_geometric_series(tokens: int, acceptance: float) -> None:
    closed = (1 - acceptance ** (tokens + 1)) / (1 - acceptance)
    assert Speculation(tokens, acceptance).tokens_per_step == pytest.approx(closed)


def test_speculation_at_its_ends() -> None:
    assert Speculation().tokens_per_step == 1
    assert Speculation(3, 0.0).tokens_per_step == 1
    assert Speculation(3, 1.0).tokens_per_step == 4


def test_speculation_is_what_a_coin_does() -> None:
    """Sum over how many drafts in a row are taken, one token more than that each."""
    drafts, share = 3, 0.7
    runs = [share**taken * (1 - share) for taken in range(drafts)] + [share**drafts]
    mean = sum((taken + 1) * chance for taken, chance in enumerate(runs))
    assert Speculation(drafts, share).tokens_per_step == pytest.approx(mean)


def test_each_draft_may_have_its_own_chance() -> None:
    """1 + 0.9 + 0.9 x 0.5 + 0.9 x 0.5 x 0.2"""
    assert Speculation(3, (0.9, 0.5, 0.2)).tokens_per_step == pytest.approx(2.44)
    assert Speculation(3, (0.7, 0.7, 0.7)).tokens_per_step == Speculation(3, 0.7).tokens_per_step
    assert Speculation(2, (1.0, 0.0)).tokens_per_step == 2


def test_pools_come_in_the_order_a_request_meets_them() -> None:
    found = deployment(
        decode=Pool(layout=Layout(attention_data=16, expert=16)),
        prefill=Pool(layout=Layout(tensor=2), replicas=10),
    )
    assert list(found.pools) == ["prefill", "decode"]
    assert found.gpus == 10 * 2 + 16
    assert found.title == "10 x prefill TP2 + 1 x decode DP16/EP16"


def test_an_aggregated_deployment_says_its_chunks() -> None:
    found = deployment(serve=Pool(layout=Layout(tensor=8), replicas=2, max_batch_tokens=2048))
    assert (found.gpus, found.title) == (16, "2 x aggregated TP8, chunks of 2,048")


def test_the_memory_flag_is_the_engines_unless_given() -> None:
    pool = Pool(layout=Layout(tensor=8))
    assert deployment(serve=pool).fraction == epoch("trtllm-1.3").memory_fraction
    assert deployment(serve=pool, memory_fraction=0.5).fraction == 0.5  # type: ignore[arg-type]
