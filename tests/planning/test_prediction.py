"""Predictions for a deployment file: the same figures as the plan that wrote it."""

from __future__ import annotations

import math
import random
from pathlib import Path

import msgspec
import pytest
from tests.planning.conftest import Asking

from racktwin.engine.deployment_text import write_deployment
from racktwin.finding import BadInput
from racktwin.planning.choice import choose
from racktwin.planning.plan import candidates_of, plan
from racktwin.planning.pools import Priced
from racktwin.planning.prediction import Load, predicted, record

SERVE = """\
model: llama-3.1-8b
cluster: hgx-b200
engine: trtllm-1.3
precision: {weights: fp8, kv: fp8}
serve: {tensor: 1, max_batch: 64, max_batch_tokens: 4096}
copies: 8
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "deployment.yaml"
    path.write_text(SERVE)
    return path


@pytest.mark.parametrize("kind", ["dense", "experts", "drafts", "vllm"])
def test_what_was_planned_is_what_is_predicted(
    kind: str, small: Asking, experts: Asking, tmp_path: Path
) -> None:
    ask = {
        "dense": lambda: small(memory_fraction="0.7", prefix_hit="25%"),
        "experts": lambda: experts(gpus=64),
        "drafts": lambda: experts(engine="sglang", mtp="2:0.7"),
        "vllm": lambda: small(engine="vllm", gpus=16, kv_dtype="bf16"),
    }[kind]()
    priced = Priced(ask)
    every = candidates_of(priced)
    for index in random.Random(1).sample(range(len(every)), 8):
        choice = choose(priced, every, index)
        path = tmp_path / "deployment.yaml"
        path.write_text(write_deployment(choice.deployment))
        load = Load(
            input=ask.traffic.input,
            output=ask.traffic.output,
            concurrency=choice.concurrency * choice.deployment.copies,
            prefix_hit=f"{ask.traffic.prefix_hit}",
        )
        found = predicted(path, load)
        assert found.tpot.value == pytest.approx(choice.tpot.value, rel=0.01)
        assert found.ttft.value == pytest.approx(choice.ttft.value, rel=0.02)
        assert found.output_rate.value == pytest.approx(choice.output_rate.value, rel=0.01)
        assert found.watts == pytest.approx(choice.watts.value, rel=0.02)
        assert found.cost.value == pytest.approx(choice.cost.value, rel=0.01)
        assert not found.overloaded


def test_the_file_of_a_plan_reads_back_as_its_deployment(small: Asking, tmp_path: Path) -> None:
    best = plan(small()).best
    path = tmp_path / "deployment.yaml"
    path.write_text(write_deployment(best.deployment))
    load = Load(input=2000, output=400, concurrency=8)
    assert predicted(path, load).deployment == best.deployment


def test_the_load_is_that_of_all_copies(file: Path) -> None:
    closed = predicted(file, Load(input=2000, output=400, concurrency=80))
    assert closed.state.concurrency == pytest.approx(10)
    rate = closed.state.requests * 8
    opened = predicted(file, Load(input=2000, output=400, rate=f"{rate}/s"))
    assert opened.state.requests == pytest.approx(closed.state.requests)
    assert opened.tpot.value == pytest.approx(closed.tpot.value)


def test_cost_is_price_over_tokens(file: Path) -> None:
    found = predicted(file, Load(input=2000, output=400, concurrency=80, price="$3.60/GPU/h"))
    per_gpu = found.state.requests * 400
    assert found.output_rate.value == pytest.approx(per_gpu)
    assert found.cost.value == pytest.approx(0.001 / per_gpu * 1e6)
    assert (found.price, found.price_note) == (3.6, "given")
    assert found.cost.low < found.cost.value < found.cost.high


def test_too_much_load_is_said(file: Path) -> None:
    closed = predicted(file, Load(input=2000, output=400, concurrency=100_000))
    assert closed.overloaded
    assert closed.state.queued > 0
    opened = predicted(file, Load(input=2000, output=400, rate="1000000/s"))
    assert opened.overloaded
    assert math.isinf(opened.ttft.value)
    assert record(opened)["queued_s"] is None


def test_records_are_plain_data(file: Path) -> None:
    found = record(predicted(file, Load(input=2000, output=400, concurrency=80)))
    again = msgspec.json.decode(msgspec.json.encode(found))
    assert again == found
    assert found["tpot"]["unit"] == "s"


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ({"input": 0}, "--input: expected 1 to"),
        ({"output": 1}, "--output: expected 2 to"),
        ({"input": float("nan")}, "--input: expected 1 to"),
        ({"input": 131_000}, "--input: 131,400 tokens are more than the model's 131,072"),
        ({"concurrency": None}, "--concurrency: give either --concurrency or --rate"),
        ({"rate": "3/s"}, "--concurrency: give either --concurrency or --rate"),
        ({"concurrency": 0}, "--concurrency: expected more than 0"),
        ({"concurrency": float("nan")}, "--concurrency: expected more than 0"),
        ({"concurrency": None, "rate": "0/s"}, "--rate: '0/s' is out of range"),
        ({"concurrency": None, "rate": "3 GB/s"}, "--rate: '3 GB/s'"),
        ({"prefix_hit": "100%"}, "--prefix-hit: at least one input token"),
        ({"price": "-1"}, "--price: '-1'"),
    ],
)
def test_bad_loads_are_refused(file: Path, load: dict[str, object], says: str) -> None:
    words: dict[str, object] = {"input": 2000, "output": 400, "concurrency": 8, **load}
    with pytest.raises(BadInput) as caught:
        predicted(file, Load(**words))  # type: ignore[arg-type]
    assert len(caught.value.findings) == 1
    assert says in str(caught.value)


def test_what_does_not_load_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_text(SERVE.replace("llama-3.1-8b", "llama-3.1-405b"))
    with pytest.raises(BadInput, match=r"serve: does not load: \d+\.\d GB per GPU are missing"):
        predicted(path, Load(input=2000, output=400, concurrency=8))


def test_a_request_no_cache_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tight.yaml"
    words = {"fp8, kv: fp8": "fp8, kv: bf16", "hgx-b200": "azure-nd-h100-v5", "8b": "70b"}
    text = SERVE + "memory_fraction: 0.85\n"
    for old, new in words.items():
        text = text.replace(old, new)
    path.write_text(text.replace("tensor: 1", "tensor: 1, pipeline: 1"))
    with pytest.raises(BadInput, match="one request of 60,400 tokens does not fit"):
        predicted(path, Load(input=60_000, output=400, concurrency=8))
