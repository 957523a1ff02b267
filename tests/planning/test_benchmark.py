"""What a benchmark's clients would measure, against the steady state of the same load."""

from __future__ import annotations

from pathlib import Path

import pytest

from racktwin.engine.deployment_file import read_deployment
from racktwin.planning.benchmark import benchmark
from racktwin.planning.prediction import Load, predicted, record
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

TRAFFIC = Traffic(input=2000, output=500)


@pytest.fixture(scope="module")
def served(root: Path) -> Served:
    return Served(read_deployment(root / "examples/llama-3.1-70b-b200.yaml")[0])


def test_one_client_of_a_replica_meets_nobody(served: Served) -> None:
    found, state = benchmark(served, TRAFFIC, 1.0), served.closed(TRAFFIC, 1.0)
    assert found is not None
    assert found.tpot.value == pytest.approx(state.tpot, rel=0.03)
    assert found.ttft.value == pytest.approx(state.ttft, rel=0.1)


@pytest.mark.parametrize("clients", [64, 256, 1000])
def test_prompts_that_come_together_wait_for_each_other(served: Served, clients: int) -> None:
    found, state = benchmark(served, TRAFFIC, clients), served.closed(TRAFFIC, clients)
    assert found is not None
    assert found.ttft.value > 2 * state.ttft
    inside = found.ttft.value + TRAFFIC.steps * found.tpot.value
    rate = clients * TRAFFIC.output / inside / served.deployment.gpus  # Little's law
    assert found.output_rate.value == pytest.approx(rate, rel=0.05)


def test_too_many_clients_are_not_followed(root: Path) -> None:
    file = root / "examples/llama-3.1-70b-b200.yaml"
    found = predicted(file, Load(input=2000, output=500, concurrency=1e6))
    assert found.benchmark is None
    assert set(record(found)["benchmark"].values()) == {None}
