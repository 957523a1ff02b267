"""The compiled simulation: what must hold in every run, and a few steps by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fake_kernels import FakeKernels, plain, tiny
from tests.serving import pool
from tests.serving.test_oracle import engines, in_order, loads

from racktwin import hardware
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.models import Layout, Precision
from racktwin.serving import aggregated
from racktwin.serving.clock import clock as flattened
from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request
from racktwin.serving.traffic import Traffic


@settings(max_examples=60)
@given(engine=engines(), gaps=loads, replicas=st.integers(1, 3))
def test_nothing_is_lost(engine: Rules, gaps: list[Request], replicas: int) -> None:
    """Requests, tokens, blocks, slots and joules are all accounted for."""
    clock = pool.uneven()
    run = pool.run(engine, clock, in_order(gaps), replicas)
    assert [each.number for each in run.results] == list(range(len(gaps)))
    for each in run.results:
        assert each.arrival <= each.admitted < each.first <= each.finish
        if gaps[each.number].output > 1:
            assert each.first < each.second <= each.finish
    sums, prompts = run.sums, sum(request.prompt for request in gaps)
    losses = sums["losses"]
    assert losses == sum(each.losses for each in run.results)
    assert (sums["prefill_tokens"] > prompts) == (losses > 0) or losses
    if engine.gain == 1:  # tokens that no decode step gave came at the end of a prompt
        with_prompts = sum(request.output for request in gaps) - sums["decode_tokens"]
        assert len(gaps) <= with_prompts <= len(gaps) + losses
    if engine.reserve == 1:
        assert losses == 0
        assert sums["prefill_tokens"] == prompts
    busy = sums["busy_seconds"]
    assert clock.idle * busy * (1 - 1e-9) <= sums["joules"] <= clock.most * busy * (1 + 1e-9)
    state = run.pool.state
    assert not state.ranks["used"].any()
    assert not state.ranks["promised"].any()
    assert not state.crossing.any()
    assert not state.replicas["context"].any()
    assert not state.replicas["pending"].any()
    assert (state.ring < 0).all()
    assert sorted(state.free[: state.counts[0]]) == list(range(len(state.slots)))


@settings(max_examples=30)
@given(gaps=loads, ranks=st.sampled_from([1, 4]))
def test_littles_law(gaps: list[Request], ranks: int) -> None:
    """Sequences in decode over time are the times the requests spent there, summed."""
    run = pool.run(pool.rules(ranks=ranks), pool.uneven(), in_order(gaps))
    inside = sum(each.finish - each.first for each in run.results)
    assert run.sums["batch_seconds"] == pytest.approx(inside)


@settings(max_examples=20)
@given(engine=engines(), gaps=loads)
def test_a_run_repeats_and_slots_do_not_matter(engine: Rules, gaps: list[Request]) -> None:
    requests = in_order(gaps)
    first = pool.run(engine, pool.uneven(), requests, 2)
    again = pool.run(engine, pool.uneven(), requests, 2)
    scarce = pool.run(engine, pool.uneven(), requests, 2, slots=2)
    assert first.pool.state.sums.tobytes() == again.pool.state.sums.tobytes()
    assert first.results == again.results == scarce.results


def test_power_is_drawn_while_steps_run() -> None:
    run = pool.run(pool.rules(), pool.constant(0.5), [Request(0.0, 4, 3), Request(100.0, 4, 3)])
    assert run.sums["busy_seconds"] == 6 * 0.5
    assert run.sums["joules"] == 3.0 * pool.WATTS


def test_the_fullest_rank_sets_the_pace() -> None:
    """Lock-step: a prompt of 8 tokens on one of two ranks; experts work on the mean of 4."""
    clock = pool.uneven()._replace(prefill=np.full((3, 5, 4), 0.25))
    run = pool.run(pool.rules(ranks=2), clock, [Request(0.0, 8, 1)])
    seconds = clock.host + clock.alone[8] + clock.shared[4] + 0.25
    assert run.results[0].finish == pytest.approx(seconds * clock.scale)


def test_one_request_is_the_sum_of_its_steps() -> None:
    """Two chunks of the prompt, then a token a step at a growing context."""
    clock, prompt, output = pool.uneven(), 26, 40
    run = pool.run(pool.rules(), clock, 2 * [Request(0.0, prompt, output)], concurrency=1)

    def step(tokens: int) -> float:
        return float(clock.host + clock.alone[tokens] + clock.shared[tokens])

    def read(new: int, behind: int) -> float:
        column = [np.interp(behind, clock.behind, row) for row in clock.prefill[0]]
        return step(new) + float(np.interp(new, clock.new, column))

    points = np.arange(clock.decode.shape[1]) * 256.0
    decode = [step(1) + np.interp(prompt + k, points, clock.decode[1]) for k in range(output - 1)]
    first = (read(16, 0) + read(10, 16)) * clock.scale
    whole = first + sum(decode) * clock.scale
    assert run.results[0].first == pytest.approx(first)
    assert run.results[0].finish == pytest.approx(whole)
    assert run.results[1].arrival == run.results[0].finish
    assert run.results[1].finish == pytest.approx(2 * whole)


@pytest.mark.parametrize("mixed", [True, False])
def test_saturation_is_the_steady_states(mixed: bool) -> None:
    """The steady state takes the cost of a mean step for the mean cost of steps.

    That is exact when time is linear in tokens, sequences and context, as it is on kernels of
    constant rates and with prompts that are read whole. Answers of one length end in waves.
    """
    engine = plain(mixed=mixed)
    cluster = hardware.cluster("azure-nd-gb300-v6")
    table = StepTable(Step(tiny(), Layout(), Precision(), cluster, engine, FakeKernels()), 0)
    asked = pool.rules(max_batch=32, budget=2048, blocks=100_000, block=16, mixed=mixed)
    clock = flattened(table, tokens=2048 + 32, batch=32, context=2048)
    run = pool.run(asked, clock, 48 * 32 * [Request(0.0, 1024, 101)], concurrency=32)
    finish = np.sort([each.finish for each in run.results])
    rate = 32 * 32 / (finish[40 * 32 - 1] - finish[8 * 32 - 1])
    decoding = run.sums["decode_tokens"] / run.sums["steps"]
    if not mixed:  # sequences that pause are in the batch too
        decoding = 32.0
    at = aggregated.point(table, engine, Traffic(input=1024, output=101), decoding, 2048)
    assert rate == pytest.approx(float(at.rate), rel=0.01)
