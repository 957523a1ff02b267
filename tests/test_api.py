"""The twin from Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import racktwin as rt
from racktwin.finding import BadInput
from racktwin.planning.saturation import CLOSE


@pytest.mark.usefixtures("fixed_intervals")
def test_names_and_records_plan_the_same() -> None:
    cluster = rt.cluster("azure-nd-gb300-v6", racks=2)
    traffic = rt.traffic(input=1024, output=256)
    by_record = rt.plan(rt.model("qwen3-32b"), cluster, traffic, tpot=rt.ms(20), top=2)
    by_name = rt.plan("qwen3-32b", cluster, traffic, tpot=0.020, top=2)
    assert by_record.best.throughput_per_gpu == by_name.best.throughput_per_gpu
    assert by_record.best.tpot.value <= 0.020
    assert by_name.best.deployment.title in repr(by_name.best)
    assert len(repr(by_name.best)) < 400
    table = by_name.table()
    assert table["output_rate"].to_list() == [each.output_rate.value for each in by_name.choices]


def test_a_deployment_file_is_predicted(root: object) -> None:
    deployment = rt.deployment(f"{root}/examples/llama-3.1-70b-b200.yaml")
    alone = rt.predict(deployment, rt.traffic(1024, 128), concurrency=1)
    busy = rt.predict(deployment, rt.traffic(1024, 128), rate=alone.requests)
    assert busy.requests == pytest.approx(alone.requests, rel=1e-6)
    with pytest.raises(TypeError, match="concurrency or rate"):
        rt.predict(deployment, rt.traffic(1024, 128))


@pytest.mark.usefixtures("fixed_intervals")
def test_capacity_of_a_deployment_and_of_a_model() -> None:
    traffic, cluster = rt.traffic(1000, 100), rt.cluster("hgx-b200", nodes=1)
    planned = rt.capacity(
        "llama-3.1-8b", traffic, cluster, gpus=2, top=1, tpot="p99:20ms", requests=1000
    )
    best = planned.best
    again = rt.capacity(best.one, traffic, tpot=rt.ms(20), requests=1000)
    assert best.rate.value > 0
    assert again.best.rate.value == pytest.approx(best.rate.value, rel=CLOSE - 1)
    assert best.found.closest.tpot.p99 <= 0.020
    shared = rt.capacity(best.one, traffic, tpot=rt.ms(20), goodput=0.5, requests=1000)
    assert shared.best.rate.value * CLOSE >= best.rate.value  # half of the requests, not 99 of 100
    with pytest.raises(TypeError, match="needs a cluster"):
        rt.capacity("llama-3.1-8b", traffic)
    with pytest.raises(BadInput, match="p98"):
        rt.capacity(best.one, traffic, ttft="p98:1s")


def test_simulate_takes_one_deployment_or_several(root: object, tmp_path: Path) -> None:
    one = rt.deployment(f"{root}/examples/llama-3.1-70b-b200.yaml")
    load = {"input": 1000, "output": 50, "requests": 2000, "slo_ttft": 0.5}
    alone = rt.simulate(one, rate=20.0, **load)
    assert 0 < alone.ttft.p50 < alone.ttft.p99 < alone.outcome.e2e.p99
    few = load | {"requests": 200, "rate": 20.0}
    ways = [rt.simulate(one, **few), rt.simulate(one, oracle=True, **few)]
    assert [each.order.oracle for each in ways] == [False, True]
    assert ways[0].ttft.p99 == ways[1].ttft.p99
    half = msgspec.structs.replace(one, serve=msgspec.structs.replace(one.serve, replicas=2))
    both = rt.simulate(half, half, rate=[20.0, 5.0], **load)
    assert both.names == ("deployment 1", "deployment 2")
    assert both.gpus == one.gpus
    assert both.total("requests") == pytest.approx(25.0, rel=0.05)
    with pytest.raises(BadInput, match="together 16 GPUs, 8 more than the 8 of hgx-b200"):
        rt.simulate(one, one, rate=20.0, **load)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="clsuter"):
        rt.clsuter  # noqa: B018
