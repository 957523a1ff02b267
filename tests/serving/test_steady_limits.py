"""The simulation where the steady state's formula, or a sum over steps, is exact."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.serving.test_simulation import REPLICAS, poisson, rows, run, served

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.epochs import epoch
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.outcome import outcome
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace, cut


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
def test_saturation_is_what_the_formula_says(engine: str) -> None:
    """More in flight than batches hold; answers much longer than prompts, so that steps are alike.

    Where prompts fill much of the time the formula is up to a few percent lower: it takes them one
    by one, and they share steps.
    """
    trace = poisson(6000, 1.0, input=100, output=1000)
    concurrency = REPLICAS * 100
    formula = served(engine).closed(trace.traffic(), concurrency)
    assert formula.limit == "max_batch of 64 per rank"
    found = outcome(run(trace, engine, concurrency=concurrency))
    assert not found.short
    assert found.requests == pytest.approx(formula.requests, rel=0.01)
    assert found.output == pytest.approx(formula.output_rate, rel=0.01)
    assert found.watts == pytest.approx(formula.watts, rel=0.02)


@cache
def ranks(drafts: int, engine: str = "sglang") -> Served:
    """Eight attention-DP ranks."""
    named = model("deepseek-r1")
    pool = Pool(
        layout=Layout(attention_data=8, expert=8),
        max_batch=64,
        max_batch_tokens=2048,
        speculation=Speculation(tokens=drafts, acceptance=0.8),
    )
    return Served(
        Deployment(
            model=named,
            cluster=hardware.cluster("hgx-b200", nodes=1),
            engine=epoch(engine),
            precision=named.at("fp8"),
            serve=pool,
        )
    )


@pytest.mark.parametrize(("drafts", "close"), [(0, 0.01), (1, 0.015)])
def test_saturation_of_ranks_that_stall_alone_or_all(drafts: int, close: float) -> None:
    """Ranks read prompts while others decode; with drafts all of them stall, for as long as any
    has prompts, and the formula takes those of a step to come as if by chance."""
    trace = poisson(12_000, 1.0, input=600, output=1000)
    formula = ranks(drafts).closed(trace.traffic(), 8 * 100)
    order = Order(concurrency=8 * 100)
    found = outcome(simulate(ranks(drafts), cut([trace], 4000), order))
    assert not found.short
    assert found.requests == pytest.approx(formula.requests, rel=close)
    assert found.tpot.mean == pytest.approx(formula.tpot, rel=0.02)
    assert found.watts == pytest.approx(formula.watts, rel=0.02)


@pytest.mark.parametrize(("engine", "close"), [("vllm", 0.05), ("trtllm-1.3", 0.06)])
def test_saturation_of_ranks_in_lock_step(engine: str, close: float) -> None:
    """A step waits for the rank with most prompts. Under TensorRT-LLM places stay empty besides,
    while a prompt waits for those of other ranks."""
    trace = poisson(12_000, 1.0, input=600, output=1000)
    formula = ranks(0, engine).closed(trace.traffic(), 8 * 100)
    order = Order(concurrency=8 * 100)
    found = outcome(simulate(ranks(0, engine), cut([trace], 4000), order))
    assert not found.short
    assert found.requests == pytest.approx(formula.requests, rel=close)


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
