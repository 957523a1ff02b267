"""Prefill and decode pools: capacity and times by hand on fake kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fake_kernels import FakeKernels, plain, tiny

from racktwin import hardware
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.models import Layout, Precision
from racktwin.serving.disaggregated import decode, first_token, prefill, watts
from racktwin.serving.traffic import Traffic

RACKS = hardware.cluster("azure-nd-gb300-v6")
TRAFFIC = Traffic(input=512, output=101)


def table(layout: Layout | None = None) -> StepTable:
    step = Step(tiny(), layout or Layout(), Precision(), RACKS, plain(gap=1e-6), FakeKernels())
    return StepTable(step)


def seconds(step: Step, prompts: float, new: float, behind: float = 0.0) -> float:
    found = step.tokens(prompts * new).seconds + step.prefill(prompts, new, behind).seconds
    return float(found + step.host(1.0).seconds)


def test_prefill_capacity_by_hand() -> None:
    found = prefill(table(), TRAFFIC, 2100)  # four prompts of 512 in a step
    step = seconds(table().step, 4.0, 512.0)
    assert (float(found.prompts), float(found.service)) == (4, pytest.approx(step))
    assert float(found.capacity) == pytest.approx(4 / step)
    assert float(found.alone) == pytest.approx(seconds(table().step, 1.0, 512.0))


def test_a_long_prompt_takes_several_steps() -> None:
    traffic = Traffic(input=1024, output=10)
    found = prefill(table(), traffic, 512)
    step = seconds(table().step, 1.0, 512.0, 256.0)  # behind none and 512, 256 on average
    assert float(found.service) == pytest.approx(2 * step, rel=1e-3)
    assert float(found.capacity) == pytest.approx(1 / (2 * step), rel=1e-3)


def test_ranks_of_a_replica_prefill_side_by_side() -> None:
    layout = Layout(attention_data=4, expert=4)
    found = prefill(table(layout), TRAFFIC, 512)
    assert float(found.capacity) == pytest.approx(4 / float(found.service))
    assert float(found.alone) < float(found.service)  # the experts see one prompt, not four


def test_stages_overlap() -> None:
    found = prefill(table(Layout(pipeline=2)), Traffic(input=1024, output=10), 512)
    step = float(found.service) / 1.5  # the second chunk follows one stage behind
    assert float(found.capacity) == pytest.approx(2 / (2 * step))


def test_decode_by_hand() -> None:
    found = decode(table(), TRAFFIC, np.array([10.0, 20.0]), gain=1.5)
    step = table().step
    for index, batch in enumerate((10.0, 20.0)):
        length = step.tokens(batch).seconds + step.decode(batch, 562.5).seconds + table().host
        assert found.step[index] == pytest.approx(float(length))
        assert found.tpot[index] == pytest.approx(float(length) / 1.5)
        assert found.rate[index] == pytest.approx(batch * 1.5 / (100 * float(length)))


def test_the_first_token_waits_for_a_replica_its_prefill_and_the_engine() -> None:
    pool, engine = prefill(table(), TRAFFIC, 512), plain(first_token=0.5, handover=0.02)
    service = float(pool.service)
    idle = float(first_token(pool, engine, 0.0, 3))
    assert idle == pytest.approx(service + 0.02)
    half = float(first_token(pool, engine, 0.5, 1))
    assert half == pytest.approx(service * 1.5 + 0.02)  # M/D/1 waits half a service at load 1/2


def test_steps_fill_up_with_load() -> None:
    pool, engine = prefill(table(), TRAFFIC, 4096), plain()
    assert float(first_token(pool, engine, 0.0, 1)) == pytest.approx(float(pool.alone))
    loads = np.linspace(0, 0.98, 20)
    assert np.all(np.diff(first_token(pool, engine, loads, 2)) > 0)


def test_a_waiting_prefill_pool_draws_its_idle_power() -> None:
    assert float(watts(800.0, 600.0, 0.0, 0.25, 200.0)) == pytest.approx(0.25 * 200 + 0.75 * 600)
    assert float(watts(800.0, 600.0, 0.5, 0.25, 200.0)) == pytest.approx(0.25 * 500 + 0.75 * 600)
    assert float(watts(800.0, 600.0, 1.0, 0.25, 200.0)) == pytest.approx(0.25 * 800 + 0.75 * 600)
