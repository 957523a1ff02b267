"""Requests with images through a deployment: what encoding them costs, and who cannot."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest
from tests.serving.test_simulation import rows as text_rows

from racktwin import api, hardware
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.finding import BadInput
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.lengths import Lengths
from racktwin.serving.outcome import outcome
from racktwin.serving.sessions import Class, Images
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace
from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.reading import Reading
from racktwin.serving.workload import Workload


@cache
def served(split: bool = False) -> Served:
    named = model("qwen2.5-vl-72b")
    pool = Pool(layout=Layout(tensor=4), max_batch=32)
    pools = {"prefill": pool, "decode": pool} if split else {"serve": pool}
    return Served(
        Deployment(
            model=named,
            cluster=hardware.cluster("azure-nd-h100-v5", nodes=1),
            engine=epoch("vllm"),
            precision=named.precision,
            **pools,
        )
    )


def shown(images: int, tokens: int, split: bool = False) -> tuple[float, float]:
    """s to the first token of a lone request with so many images, of 1,200 input tokens; joules."""
    trace = Trace.of([0.0], [1200], [9], images=[images], encoder=[images * tokens])
    kept: list[dict[str, np.ndarray]] = []
    run = simulate(served(split), iter([trace]), Order(rows=kept.append))
    joules = run.runner.pools["prefill" if split else "serve"].state.sums[4]
    return float(kept[0]["first"][0]), float(joules)


@pytest.mark.parametrize("split", [False, True])
def test_the_first_token_waits_for_the_encoder(split: bool) -> None:
    encoder = served(split).encoder("prefill" if split else "serve")
    assert encoder is not None
    cost = encoder.cost(2, 500)
    plain, idle = shown(0, 0, split)
    first, joules = shown(2, 500, split)
    assert first - plain == pytest.approx(float(cost.seconds), rel=1e-6)
    assert joules > idle + float(cost.joules) / 2  # and the idle floor while it lasts


def test_a_workload_brings_its_images() -> None:
    law = Class(
        input=Lengths(mean=200),
        output=Lengths(mean=20),
        images=Images(count=Lengths(mean=3), tokens=Lengths(mean=300)),
    )
    made = Workload(title="images", classes=(law,)).trace(50)
    assert (made.images == 3).all()
    assert (made.encoder == 900).all()
    assert (made.input == 1100).all()
    run = simulate(served(), iter([made]), Order())
    assert run.images == 50
    encoder = served().encoder("serve")
    assert encoder is not None
    assert run.encoding / 50 == pytest.approx(float(encoder.cost(3, 300).seconds))


def test_a_model_without_an_encoder_refuses_them() -> None:
    trace = Trace.of([0.0, 1.0], [500, 500], [9, 9], encoder=[0, 100])
    with pytest.raises(
        BadInput, match=r"1 requests have images; Llama 3.1 8B has no image encoder"
    ):
        text_rows(trace)


def test_image_tokens_are_part_of_the_input() -> None:
    lengths = np.array([100.0, 100.0, 100.0])
    line, time = np.arange(1, 4), np.zeros(3)
    reading = Reading()
    batch = Batch.of(line, time, lengths, lengths, encoder=np.array([100, 101, -1]))
    assert batch.usable(reading).line.tolist() == [1]
    assert msgspec.structs.asdict(reading.skipped[0])["lines"] == (2, 3)


@pytest.mark.parametrize("split", [False, True])
def test_the_steady_state_counts_them_too(split: bool) -> None:
    """Images cost the formula the share of its capacity that they cost the simulation."""
    trace = Trace.of(np.zeros(600), np.full(600, 2200), np.full(600, 40))
    shown = trace.having(images=np.full(600, 2), encoder=np.full(600, 2000))
    assert shown.traffic().image_tokens == 1000

    def most(trace: Trace) -> tuple[float, float]:
        run = simulate(served(split), iter([trace]), Order(concurrency=120))
        formula = served(split).curve(trace.traffic()).requests[-1]
        return float(formula), outcome(run).requests

    formula, simulated = (
        with_images / without for with_images, without in zip(most(shown), most(trace), strict=True)
    )
    assert formula < 0.95
    assert formula == pytest.approx(simulated, abs=0.04)


def test_a_plan_for_images_needs_an_encoder() -> None:
    named, cluster = model("llama-3.1-8b"), hardware.cluster("hgx-b200", nodes=1)
    with pytest.raises(BadInput, match=r"requests have images; Llama 3.1 8B has no image encoder"):
        api.plan(named, cluster, api.traffic(2000, 100, images=1, image_tokens=500))
