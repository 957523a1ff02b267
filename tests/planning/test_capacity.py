"""Capacity and confirmation by the real simulation, on machines small enough to know."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.engine.offload import Offload
from racktwin.finding import BadInput
from racktwin.planning.ask import Ask
from racktwin.planning.capacity import Sustained, sustained
from racktwin.planning.confirmation import confirmed, missed, misses
from racktwin.planning.demand import fixed, named
from racktwin.planning.part import smallest
from racktwin.planning.plan import SHARE, plan
from racktwin.planning.slo import Slo
from racktwin.planning.task import Task
from racktwin.planning.trial import Bench
from racktwin.planning.wish import Wish, asks
from racktwin.serving.outcome import outcome
from racktwin.serving.sample import Spread
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic
from racktwin.units import Bytes

FILE = """\
model: llama-3.1-8b
cluster: {extends: hgx-b200, nodes: 1}
engine: vllm
serve: {replicas: REPLICAS, max_batch: BATCH, max_batch_tokens: 4096}
"""
LENGTHS = fixed(Traffic(input=1000, output=100))


def deployed(folder: Path, replicas: int = 1, batch: int = 64) -> Deployment:
    path = folder / "deployment.yaml"
    path.write_text(FILE.replace("REPLICAS", str(replicas)).replace("BATCH", str(batch)))
    return read_deployment(path)[0]


def answer(one: Deployment, *slos: Slo, **asked: float) -> Sustained:
    task = Task(demand=LENGTHS, slos=slos, **{"requests": 4000, **asked})  # type: ignore[arg-type]
    return sustained(one, 8, task, lambda text: None)


def service(one: Deployment) -> float:
    """s of a request that is alone, from a closed loop of one."""
    stream = LENGTHS.stream(1.0, 1000, 0)
    return 1 / outcome(simulate(Served(one), stream, Order(concurrency=1))).requests


def test_one_request_at_a_time_is_a_queue_with_a_constant_service(tmp_path: Path) -> None:
    """M/D/1: all its time is the most; a mean wait of one service is met at two thirds of it."""
    one = deployed(tmp_path, batch=1)
    alone = service(one)
    most = answer(one)
    assert most.rate.value * alone == pytest.approx(1, abs=0.05)
    first = Bench(one, LENGTHS, copies=1, requests=1000).at(0.001 / alone).ttft.mean
    waiting = answer(one, Slo("ttft", "mean", first + alone), requests=10_000)
    assert waiting.rate.value * alone == pytest.approx(2 / 3, rel=0.06)


def test_a_rate_takes_copies_that_hold_it(tmp_path: Path) -> None:
    slo = Slo("tpot", "p99", 0.012)
    found = answer(deployed(tmp_path, replicas=4), slo, rate=30.0, spare=1)
    assert (found.one.gpus, found.copies) == (1, 3)
    need = found.need
    assert need is not None
    assert need.copies >= math.floor(30 / found.rate.value)
    assert need.trial.tpot.p99 <= slo.limit
    assert need.gpus == need.copies + 1
    assert need.racks == math.ceil(need.gpus / found.one.cluster.gpus_per_rack)
    assert need.fits == (need.gpus <= 8)
    assert found.enough == need.fits


def test_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    one, slo = deployed(tmp_path, replicas=2), Slo("ttft", "p99", 0.2)
    assert repr(answer(one, slo)) == repr(answer(one, slo))  # NaN differs from itself


def test_an_objective_below_one_step_has_no_load(tmp_path: Path) -> None:
    found = answer(deployed(tmp_path), Slo("tpot", "p99", 1e-6))
    assert (found.rate.value, found.enough) == (0, False)
    assert found.found.closest.tpot.p99 > 1e-6


def test_the_smallest_copy_keeps_the_ratio(tmp_path: Path) -> None:
    one, count = smallest(msgspec.structs.replace(deployed(tmp_path, replicas=4), copies=3))
    assert (one.gpus, one.copies, count) == (1, 1, 12)


def test_parts_have_their_share_of_the_pool(tmp_path: Path) -> None:
    """12 TB of 12 replicas: 1 TB for each, 5 TB where five are tried together."""
    offload = Offload(host=Bytes(1e11), shared=Bytes(12e12))
    whole = msgspec.structs.replace(deployed(tmp_path, replicas=4), copies=3, offload=offload)
    one, _ = smallest(whole)
    assert (one.offload.host, one.offload.shared) == (1e11, 1e12)
    bench = Bench(one, LENGTHS, copies=5)
    assert bench.served.deployment.offload.shared == 5e12


def test_demand_keeps_its_requests_at_any_rate() -> None:
    found = named("azure-conv-2023")
    slow, fast = (next(found.stream(rate, 500, 3)) for rate in (1.0, 10.0))
    assert (slow.input == fast.input).all()
    assert slow.arrival == pytest.approx(10 * fast.arrival)
    assert "not its profile" in found.arrivals
    assert named("mlperf-llama2-70b-offline").arrivals == "Poisson arrivals"
    assert named("mooncake-conversation").lasting > 0


def test_a_trace_comes_at_the_rate_asked(tmp_path: Path) -> None:
    lines = (
        f'{{"timestamp": {1000 * at}, "input_length": {100 + at}, "output_length": 7}}'
        for at in range(50)
    )
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines) + "\n")
    found = named(str(path))
    assert found.traffic == Traffic(input=124.5, output=7.0)
    assert next(found.stream(5.0, 50, 0)).rate == pytest.approx(5.0)


def planned(**wish: object) -> Ask:
    said = Wish(gpus=2, top=2, **wish)  # type: ignore[arg-type]
    return asks("llama-3.1-8b", ["hgx-b200"], 2000, 400, said)[0]


def test_finalists_are_tried_below_their_planned_load() -> None:
    found = confirmed(plan(planned(ttft="2s", tpot="20ms")))
    assert len(found.trials) == len(found.choices)
    for choice, trial in zip(found.choices, found.trials, strict=True):
        assert trial.rate == pytest.approx(SHARE * choice.requests)
        assert trial.tpot.mean == pytest.approx(trial.steady_tpot, rel=0.15)
        assert trial.steady_tpot < choice.tpot.value
        assert trial.tpot.p50 <= trial.tpot.p99
    limited = msgspec.structs.replace(found.ask, ttft=1e-6)
    said = list(misses(msgspec.structs.replace(found, ask=limited)))
    assert [each.split(":")[0] for each in said] == [f"#{k} misses the limit" for k in (1, 2)]


@pytest.mark.parametrize(("mean", "over"), [(1.0, False), (1.05, False), (1.2, True)])
def test_a_limit_is_missed_by_more_than_the_interval(mean: float, over: bool) -> None:
    assert missed(Spread(100, mean, 0.1, *(mean,) * 4), 1.0) == over


def test_a_trace_of_a_few_requests_is_no_load(tmp_path: Path) -> None:
    """One has no rate at all; of three no load is too much."""
    path = tmp_path / "few.csv"
    rows = [f"{each},100,10" for each in range(16)]
    for count in (1, 15):
        path.write_text("\n".join(("arrival_s,input_tokens,output_tokens", *rows[:count])))
        with pytest.raises(BadInput, match=f"holds {count} usable requests; a load needs 16"):
            named(str(path))
    path.write_text("\n".join(("arrival_s,input_tokens,output_tokens", *rows)))
    assert named(str(path)).traffic.input == 100
