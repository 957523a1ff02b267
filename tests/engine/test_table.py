"""Step tables: equal to the step they were made of, and bounded in energy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fake_kernels import FakeKernels, plain, tiny

from racktwin import hardware
from racktwin.engine.epochs import epoch
from racktwin.engine.step import Step
from racktwin.engine.table import BEHIND, CACHED, NEW, PROMPTS, SEQUENCES, TOKENS, Grid, StepTable
from racktwin.models import Layout, Precision, model

RACKS = hardware.cluster("azure-nd-gb300-v6")
CASES = (
    ("deepseek-r1", "nvfp4", "azure-nd-gb300-v6", Layout(attention_data=8, expert=8), "trtllm"),
    ("llama-3.1-70b", "fp8", "azure-nd-h100-v5", Layout(tensor=4), "vllm"),
    ("qwen3.5-397b", "nvfp4", "hgx-b200", Layout(tensor=4, expert=4), "sglang"),
)


@cache
def measured(case: int, drafts: int = 0) -> StepTable:
    name, precision, cluster, layout, engine = CASES[case]
    found = model(name)
    step = Step(
        found.architecture,
        layout,
        found.at(precision),
        hardware.cluster(cluster),
        epoch(engine),
    )
    return StepTable(step, drafts)


def fake(layout: Layout | None = None, drafts: int = 0, **changes: object) -> StepTable:
    layout = layout or Layout()
    step = Step(tiny(), layout, Precision(), RACKS, plain(**changes), FakeKernels())
    return StepTable(step, drafts)


def test_a_grid_is_linear_between_and_beyond_its_points() -> None:
    grid = Grid(
        (np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0])), np.array([[0, 1], [2, 3], [8, 9]])
    )
    assert grid(1.0, 2.0) == pytest.approx(3)
    assert grid(2.5, 1.5) == pytest.approx(5.5)
    assert grid(7.0, 3.0) == pytest.approx(16)
    assert grid(np.array([0.0, 0.5]), 1.0).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda case: CASES[case][0])
def test_grid_points_are_the_step_itself(case: int) -> None:
    table = measured(case)
    step = table.step
    assert table.tokens.seconds(TOKENS) == pytest.approx(step.tokens(TOKENS).seconds)
    states = SEQUENCES[::4, None], CACHED[None, ::4]
    assert table.decode.seconds(*states) == pytest.approx(step.decode(*states).seconds)
    assert table.decode.joules(*states) == pytest.approx(step.decode(*states).joules)
    prompts = PROMPTS[:, None, None], NEW[None, ::5, None], BEHIND[None, None, ::3]
    assert table.prefill.seconds(*prompts) == pytest.approx(step.prefill(*prompts).seconds)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda case: CASES[case][0])
@settings(max_examples=25)
@given(
    batch=st.integers(1, 2000),
    context=st.integers(100, 100_000),
    prompts=st.integers(0, 8),
    new=st.integers(64, 16_384),
    behind=st.one_of(st.just(0), st.integers(1, 100_000)),
)
def test_a_mixed_step_is_its_three_parts(
    case: int, batch: int, context: int, prompts: int, new: int, behind: int
) -> None:
    table = measured(case)
    step, tokens = table.step, float(batch + prompts * new)
    direct = step.tokens(tokens).seconds + step.decode(float(batch), float(context)).seconds
    if prompts:
        direct = direct + step.prefill(float(prompts), float(new), float(behind)).seconds
    direct = direct + step.host(1.0).seconds
    found = table.mixed_step(batch, context, prompts, new, behind)
    # a kernel may jump between two grid points (at 128 rows, say); the median is within 1 %
    assert float(found) == pytest.approx(float(direct), rel=0.1)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda case: CASES[case][0])
def test_most_steps_are_within_a_percent(case: int) -> None:
    table, random = measured(case), np.random.default_rng(0)
    batch = np.exp(random.uniform(0, np.log(1000), 400))
    context = np.exp(random.uniform(np.log(100), np.log(60_000), 400))
    step = table.step
    direct = step.tokens(batch).seconds + step.decode(batch, context).seconds + table.host
    error = np.abs(table.decode_step(batch, context) / direct - 1)
    assert np.quantile(error, 0.8) < 0.01


def test_the_fake_model_is_looked_up_exactly() -> None:
    """Constant rates are linear in every axis but the square of a prompt."""
    table = fake(gap=1e-6, step_overhead=1e-4)
    step = table.step
    for batch, context in ((1.0, 50.0), (37.0, 777.0), (900.0, 12_345.0)):
        direct = step.tokens(batch).seconds + step.decode(batch, context).seconds + table.host
        assert float(table.decode_step(batch, context)) == pytest.approx(float(direct))


def test_a_lone_sequence_leaves_the_other_ranks_idle() -> None:
    """Experts see one token in all; whatever a rank does alone it does for one token."""
    table = fake(Layout(attention_data=4, expert=4))
    step = table.step
    alone, full = table.decode_step(1e-4, 100.0), table.decode_step(1.0, 100.0)
    experts = step.tokens(np.array([0.25, 1.0])).parts["experts"]
    assert float(full - alone) == pytest.approx(float(experts[1] - experts[0]))


def test_drafts_add_their_layer_and_widen_the_step() -> None:
    plain_table, drafting = fake(), fake(drafts=2)
    step = plain_table.step
    batch, context = 8.0, 512.0
    extra = 2 * (
        step.tokens(batch, step.drafts).seconds
        + step.decode(batch, context, 1, step.drafts).seconds
    )
    wide = step.tokens(3 * batch).seconds + step.decode(batch, context, 3).seconds
    assert float(drafting.decode_step(batch, context)) == pytest.approx(float(extra + wide))


@pytest.mark.parametrize(
    "layout", [Layout(), Layout(attention_data=4, expert=4), Layout(pipeline=3)]
)
@pytest.mark.parametrize("drafts", [0, 2])
@pytest.mark.parametrize("batch", [0.01, 1.0, 100.0])
def test_the_breakdown_sums_to_the_step(layout: Layout, drafts: int, batch: float) -> None:
    table = fake(layout, drafts, gap=1e-6)
    parts = table.breakdown(batch, 300.0)
    assert sum(parts.values()) == pytest.approx(float(table.decode_step(batch, 300.0)))
    assert min(parts.values()) >= 0


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda case: CASES[case][0])
@settings(max_examples=20)
@given(
    batch=st.floats(0, 2000),
    context=st.floats(100, 100_000),
    prompts=st.floats(0, 4),
    new=st.floats(1, 16_384),
    behind=st.floats(0, 50_000),
)
def test_energy_lies_between_idle_and_limit(
    case: int, batch: float, context: float, prompts: float, new: float, behind: float
) -> None:
    table = measured(case)
    chip = table.step.cluster.chip
    seconds = float(table.mixed_step(batch, context, prompts, new, behind))
    joules = float(table.joules(batch, context, prompts, new, behind, seconds))
    assert chip.idle_power * seconds <= joules * (1 + 1e-12)
    assert joules <= chip.tdp * seconds * (1 + 1e-12)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda case: CASES[case][0])
def test_more_work_takes_longer(case: int) -> None:
    table = measured(case)
    batch = np.exp2(np.arange(0, 11.0))
    for context in (500.0, 5000.0, 50_000.0):
        steps = table.decode_step(batch, context)
        assert np.all(np.diff(steps) > -0.05 * steps[1:])  # measured kernels have small dips
        assert np.all(table.decode_step(batch, 2 * context) >= 0.98 * steps)


def test_every_part_names_its_evidence() -> None:
    table = measured(0, 1)
    known = table.evidence(64.0, 4096.0, 8192.0)
    timed = set(table.breakdown(64.0, 4096.0)) - {"host"}
    assert timed <= set(known)
    assert all(known.values())
