"""Aggregated replicas: operating points by hand on fake kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fake_kernels import FakeKernels, plain, tiny

from racktwin import hardware
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.models import Layout, Precision
from racktwin.serving.aggregated import between, chunk, fullest, point
from racktwin.serving.traffic import Traffic

RACKS = hardware.cluster("azure-nd-gb300-v6")
TRAFFIC = Traffic(input=512, output=101)


def table(layout: Layout | None = None, drafts: int = 0) -> StepTable:
    step = Step(tiny(), layout or Layout(), Precision(), RACKS, plain(gap=1e-6), FakeKernels())
    return StepTable(step, drafts)


def decode(step: Step, batch: float, context: float = 512 + 50.5) -> float:
    """Seconds of a decode step, straight from the operators."""
    found = step.tokens(batch).seconds + step.decode(batch, context).seconds
    return float(found + step.host(1.0).seconds)


def prefill(step: Step, new: float = 512, behind: float = 0) -> float:
    """Seconds of a step with one prompt, straight from the operators."""
    found = step.tokens(new).seconds + step.prefill(1.0, new, behind).seconds
    return float(found + step.host(1.0).seconds)


def test_prompts_that_stall_the_decoding_by_hand() -> None:
    found = point(table(), plain(mixed=False, first_token=0.01), TRAFFIC, 10.0, 4096)
    step = table().step
    stalls = 10 / 100  # ten sequences, a hundred decode steps each: one prompt every ten steps
    length = decode(step, 10) + stalls * prefill(step)
    assert float(found.stalls) == pytest.approx(stalls)
    assert float(found.step) == pytest.approx(length)
    assert float(found.tpot) == pytest.approx(length)
    assert float(found.rate) == pytest.approx(10 / (100 * length))
    queued = prefill(step) * stalls / (2 * (1 - stalls))
    assert float(found.ttft) == pytest.approx(prefill(step) + queued + length / 2 + 0.01)


def test_prompts_that_ride_along_by_hand() -> None:
    found = point(table(), plain(), TRAFFIC, 10.0, 4096)
    step = table().step
    loaded = step.tokens(522.0).seconds + step.decode(10.0, 562.5).seconds
    loaded = float(loaded + step.prefill(1.0, 512.0).seconds + step.host(1.0).seconds)
    length = 0.9 * decode(step, 10) + 0.1 * loaded
    assert float(found.step) == pytest.approx(length)
    queued = loaded * 0.1 / (2 * 0.9)
    assert float(found.ttft) == pytest.approx(loaded + queued + length / 2)


def test_ranks_that_prefill_when_they_like_stall_each_other() -> None:
    """Drafts on ranks in lock-step: all stall as long as any of four has prompts, which come one
    in ten steps to each. The budget has room for one beside the others, two make two steps."""
    layout, engine = Layout(attention_data=4, expert=4), plain(mixed=False, balanced=False)
    each = point(table(layout, 1), engine, TRAFFIC, 10.0, 540)
    step = table(layout).step
    hit = float(fullest(np.array(0.1), 4, np.ones(())))
    with_experts = step.tokens(np.array([512.0, 512 * 0.1 / hit])).parts["experts"]
    stall = prefill(step) + float(with_experts[1] - with_experts[0])
    drafting = float(table(layout, 1).decode_step(10.0, 562.5))
    assert float(each.step) == pytest.approx(drafting + hit * stall, rel=1e-5)


def test_ranks_that_wait_for_each_other_share_their_stalls() -> None:
    """Fewer steps with prompts than without the wait; the fullest rank has more in each."""
    layout = Layout(attention_data=4, expert=4)

    def step(wait: int) -> float:
        engine = plain(mixed=False, balanced=True, balance_wait=wait)
        return float(point(table(layout), engine, TRAFFIC, 10.0, 4096).step)

    assert decode(table(layout).step, 10) < step(20) < step(0)


def test_a_wait_ends_when_all_ranks_have_a_prompt_or_it_is_long_enough() -> None:
    """Drawn for eight ranks; where one has nothing to decode nobody waits."""
    rate, share = np.array([0.064, 0.5]), np.array([50.0, 50.0])
    drawn = np.random.default_rng(1).exponential(1.0, (200_000, 8)).max(axis=1)
    expected = [np.minimum(drawn / each, 20.0).mean() for each in rate]
    assert between(rate, share, 8, 20) == pytest.approx(expected, rel=0.01)
    assert between(rate, np.array([1e-3, 1e-3]), 8, 20) == pytest.approx([1.0, 1.0])
    assert between(rate, share, 8, 0) == pytest.approx([1.0, 1.0])


def test_steps_of_the_fullest_rank() -> None:
    """P(no prompt) is exp(-0.3), P(at most one) 1.3 times that; drawn for eight ranks."""
    mean, one, two = np.array(0.3), np.array(1.0), np.array(2.0)
    assert float(fullest(mean, 1, np.array(16.0))) == pytest.approx(1 - np.exp(-0.3))
    assert float(fullest(mean, 1, one)) == pytest.approx(0.3)
    assert float(fullest(np.array(50.0), 8, np.array(81.0))) == pytest.approx(1.0)
    assert float(fullest(np.array(50.0), 8, one)) >= 50.0  # never fewer than the mean
    drawn = np.random.default_rng(1).poisson(0.3, (200_000, 8)).max(axis=1)
    assert float(fullest(mean, 8, one)) == pytest.approx(drawn.mean(), rel=0.01)
    assert float(fullest(mean, 8, two)) == pytest.approx(np.ceil(drawn / 2).mean(), rel=0.01)


def test_a_rank_prefills_while_others_decode() -> None:
    """One step of eleven is a prompt's of the rank; any of four has one in `hit` of them, and then
    the step is that of the slowest rank, with experts that see the tokens of all."""
    layout, engine = Layout(attention_data=4, expert=4), plain(mixed=False, balanced=False)
    found = point(table(layout), engine, TRAFFIC, 10.0, 4096)
    step = table(layout).step
    hit = 1 - (10 / 11) ** 4
    reads = 1 / 11 / hit  # share of ranks, where any does
    tokens = np.array([512.0, reads * 512 + (1 - reads) * 10])
    experts = step.tokens(tokens).parts["experts"]
    slow = float(step.tokens(512.0).seconds + experts[1] - experts[0] + step.host(1.0).seconds)
    prompts = float(step.prefill(1.0, 512.0).seconds)
    slow += max(prompts, float(step.decode(10.0, 562.5).seconds))
    mean = (1 - hit) * decode(step, 10) + hit * slow
    assert float(found.step) == pytest.approx(1.1 * mean)


def test_a_pipeline_holds_a_step_per_stage() -> None:
    """Two stages: each step has half of the sequences, and a prompt as often as a step alone."""
    layout = Layout(pipeline=2)
    found = point(table(layout), plain(), TRAFFIC, 20.0, 4096)
    step = table(layout).step
    loaded = step.tokens(522.0).seconds + step.decode(10.0, 562.5).seconds
    loaded = float(loaded + step.prefill(1.0, 512.0).seconds + step.host(1.0).seconds)
    length = 0.9 * decode(step, 10) + 0.1 * loaded
    assert float(found.stalls) == pytest.approx(0.1)
    assert float(found.step) == pytest.approx(length)
    assert float(found.rate) == pytest.approx(20 / (100 * length))


def test_drafts_gain_tokens_and_cost_steps() -> None:
    found = point(table(drafts=1), plain(mixed=False), TRAFFIC, 10.0, 4096, gain=1.8)
    assert float(found.tpot) == pytest.approx(float(found.step) / 1.8)
    assert float(found.stalls) == pytest.approx(10 * 1.8 / 100)
    assert float(found.rate) == pytest.approx(10 * 1.8 / (100 * float(found.step)))


def test_long_prompts_are_cut_and_short_ones_share_a_step() -> None:
    long = chunk(np.array(24.0), np.array(0.5), 1000.0, 512, 1)
    assert (float(long.count), float(long.tokens), float(long.prompts)) == (3, 1000 / 3, 1)
    short = chunk(np.array(24.0), np.array(3.0), 100.0, 512, 1)
    assert (float(short.count), float(short.tokens), float(short.prompts)) == (1, 100, 3)
    crowd = chunk(np.array(24.0), np.array(30.0), 100.0, 512, 1)
    assert float(crowd.prompts) == 4  # of 488 tokens left


@settings(max_examples=40)
@given(
    batch=st.floats(0.01, 1000),
    input=st.floats(1, 20_000),
    output=st.floats(2, 5000),
    hit=st.floats(0, 0.99),
    budget=st.sampled_from([2048, 8192]),
)
def test_littles_law_and_conservation(
    batch: float, input: float, output: float, hit: float, budget: int
) -> None:
    traffic = Traffic(input=input, output=output, prefix_hit=hit)
    found = point(table(Layout(attention_data=2, expert=2)), plain(), traffic, batch, budget)
    inside = float(found.ttft) + traffic.steps * float(found.tpot)
    assert float(found.concurrency) == pytest.approx(float(found.rate) * inside)
    assert float(found.rate) * traffic.steps == pytest.approx(batch / float(found.step))
    chip = RACKS.chip
    assert chip.idle_power <= float(found.watts) * (1 + 1e-9) <= chip.tdp * (1 + 1e-8)


def test_prompts_wait_so_many_steps_whatever_the_load() -> None:
    for batch in (1.0, 4.0):
        none, waiting = (
            point(table(), plain(prefill_wait=each), TRAFFIC, batch, 4096) for each in (0.0, 8.0)
        )
        extra = float(waiting.ttft - none.ttft)
        assert extra == pytest.approx(8 * float(none.step))
