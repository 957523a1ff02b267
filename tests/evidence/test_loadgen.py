"""The search for the highest load within limits, on a server whose latencies are known."""

from __future__ import annotations

import pytest

from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.evidence.loadgen import Limits, Trial, _part, highest
from racktwin.finding import BadInput
from racktwin.hardware import cluster
from racktwin.models import Layout, model
from racktwin.serving.lengths import Lengths
from racktwin.serving.sessions import Class
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic
from racktwin.serving.workload import Workload

LIMITS = Limits(ttft=2.0, tpot=0.05)


def queue(rate: float) -> Trial:
    """TTFT grows as 1 / (100 - rate): it is 2 s at 99.5 requests/s; no end from 100 on."""
    ttft = 1 / (100 - rate) if rate < 100 else 99.0
    return Trial(rate, 10 * rate, ttft, 0.01, endless=rate >= 100)


def test_what_keeps_a_load_from_more_is_said() -> None:
    never = Trial(1.0, 1.0, 3.0, 0.06, endless=False)
    assert never.said(LIMITS) == "p99 TTFT 3.00 s and p99 TPOT 60.0 ms"
    assert queue(101.0).said(LIMITS) == "the queue has no end"
    assert queue(99.6).said(LIMITS) == "p99 TTFT 2.50 s"
    assert queue(99.0).said(LIMITS) == ""
    assert queue(99.0).holds(LIMITS)


@pytest.fixture(scope="module")
def served() -> Served:
    """Llama 3.1 8B on eight B200, a replica each."""
    small = model("llama-3.1-8b")
    return Served(
        Deployment(
            model=small,
            cluster=cluster("hgx-b200"),
            engine=epoch("trtllm"),
            precision=small.at("fp8"),
            serve=Pool(layout=Layout(), replicas=8, max_batch=64),
        )
    )


def test_a_part_of_the_replicas_stands_for_all(served: Served) -> None:
    part, share = _part(served, 8 * 3000.0)
    assert share == 1 / 8
    assert part.deployment.serve is not None
    assert part.deployment.serve.replicas == 1
    assert served.deployment.serve is not None
    assert served.deployment.serve.replicas == 8
    assert _part(served, 100.0)[1] == 1.0


def test_tighter_limits_hold_less_and_none_is_beyond_the_steady_state(served: Served) -> None:
    lengths = Class(input=Lengths(mean=500), output=Lengths(mean=100))
    workload = Workload(title="fixed", classes=(lengths,))
    traffic = Traffic(input=500, output=100)
    curve = served.curve(traffic)
    between = float(curve.tpot[0] + curve.tpot[-1]) / 2
    loose = highest(served, workload, traffic, Limits(5.0, 1.0)).trial
    tight = highest(served, workload, traffic, Limits(5.0, between)).trial
    assert tight.tpot <= between
    assert 0 < tight.output_rate < loose.output_rate
    assert loose.output_rate < 1.1 * float(curve.requests.max()) * traffic.output
    with pytest.raises(BadInput, match="no load holds"):
        highest(served, workload, traffic, Limits(1e-6, 1.0))
