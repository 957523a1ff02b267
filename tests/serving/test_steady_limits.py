"""The simulation where the steady state's formula, or a sum over steps, is exact."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serving.test_simulation import REPLICAS, poisson, rows, run, served

from racktwin.serving.outcome import outcome
from racktwin.serving.trace import Trace


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
def test_saturation_is_what_the_formula_says(engine: str) -> None:
    """More in flight than batches hold; answers much longer than prompts, so that steps are alike.

    Where prompts fill much of the time the formula is up to a few percent lower: it takes them one
    by one, and they share steps. Its power is a few percent higher: it prices joules of the mean
    tokens of a step, and those of measured operators rise slower than tokens.
    """
    trace = poisson(6000, 1.0, input=100, output=1000)
    concurrency = REPLICAS * 100
    formula = served(engine).closed(trace.traffic(), concurrency)
    assert formula.limit == "max_batch of 64 per rank"
    found = outcome(run(trace, engine, concurrency=concurrency))
    assert not found.short
    assert found.requests == pytest.approx(formula.requests, rel=0.01)
    assert found.output == pytest.approx(formula.output_rate, rel=0.01)
    assert 0.96 * formula.watts < found.watts < 1.01 * formula.watts


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
def test_a_closed_loop_of_one_is_the_sum_of_its_steps(engine: str) -> None:
    """Request after request, each its prefill and its decode steps at growing context."""
    input, output = [700, 90, 1500], [40, 3, 25]
    _, found = rows(Trace.of([0.0] * 3, input, output), engine=engine, concurrency=1)
    table = served(engine).tables["serve"]
    lengths = []
    for prompt, answer in zip(input, output, strict=True):
        prefill = float(table.mixed_step(0.0, 1.0, 1.0, float(prompt), 0.0))
        steps = table.decode_step(1.0, prompt + np.arange(answer - 1.0))
        lengths.append(prefill + float(steps.sum()))
    assert found["finish"] - found["arrival"] == pytest.approx(lengths, rel=0.005)
    assert found["arrival"] == pytest.approx([0, *np.cumsum(lengths)[:-1]], rel=0.005)
    assert found["arrival"][1:] == pytest.approx(found["finish"][:-1], abs=1e-12)
