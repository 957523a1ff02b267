"""Whole deployments whose replicas come and go: conservation, theory, what is told of them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from tests.serving.test_simulation import poisson, served

from racktwin import hardware
from racktwin.engine.autoscale import Autoscale
from racktwin.engine.deployment import Pool
from racktwin.serving.fleet import DECODED, LOST_TOKENS, PREFILLED
from racktwin.serving.outages import Chance, Outage, Outages, Recovery
from racktwin.serving.outcome import gpu_hours, outcome, readings
from racktwin.serving.pool import READINGS
from racktwin.serving.simulation import Order, Simulation, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace, cut

HOUR = 3600.0


def with_pools(copies: int = 1, engine: str = "vllm", **pools: Pool) -> Served:
    """The test deployment with other pools."""
    old = served(engine).deployment
    given = {"serve": None, "cluster": hardware.cluster("hgx-b200", nodes=8), **pools}
    return Served(msgspec.structs.replace(old, copies=copies, **given))


def small(replicas: int = 2, scale: Autoscale | None = None, **rest: Any) -> Pool:
    made = served().deployment.pools["serve"]
    return msgspec.structs.replace(made, replicas=replicas, autoscale=scale, **rest)


def scale(**changes: Any) -> Autoscale:
    usual: dict[str, Any] = {"least": 1, "most": 8, "metric": "outstanding", "target": 8.0}
    usual |= {"interval": 5.0, "tolerance": 0.1, "stabilisation": 60.0, "start_up": 20.0}
    return Autoscale(**(usual | changes))


def run(of: Served, trace: Trace, **order: Any) -> tuple[Simulation, dict[str, Any]]:
    """The run, and its requests in the order of the stream."""
    parts: list[dict[str, Any]] = []
    given = {"router": "least_outstanding", "rows": parts.append, **order}
    done = simulate(of, cut([trace], 900), Order(**given))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order_of = np.argsort(joined["request"], kind="stable")
    return done, {name: values[order_of] for name, values in joined.items()}


def storm(migrate: bool, *roles: str) -> Outages:
    """Failures every 20 s of every replica."""
    random = tuple(Chance(role=role, mtbf=20.0, repair=3.0) for role in roles)
    return Outages(random=random, recovery=Recovery(migrate, 0.5), seed=3)


@pytest.mark.parametrize("migrate", [False, True])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
def test_nothing_is_lost_for_good(engine: str, migrate: bool) -> None:
    trace = poisson(3000, 40.0)
    of = with_pools(engine=engine, serve=small(4))
    done, found = run(of, trace, outages=storm(migrate, "serve"))
    assert (found["request"] == np.arange(3000)).all()
    assert (found["output"] == trace.output).all()
    assert (found["arrival"] == trace.arrival).all()
    assert (found["first"] >= found["admitted"]).all()
    assert (found["finish"] >= found["first"]).all()
    answer = outcome(done)
    use = answer.pools["serve"]
    assert use.failures > 10
    assert found["failures"].sum() == use.interrupted > 30
    computed = sum(readings(done, "serve", index)[-1] for index in (PREFILLED, DECODED))
    due = trace.input.sum() + (trace.output - 1).sum()
    lost = readings(done, "serve", LOST_TOKENS)[-1]
    assert computed == due + lost  # of what is lost every token is computed again, once
    assert 3.0 < use.up < 4.0
    assert answer.inside == pytest.approx(answer.little, rel=0.05)


@pytest.mark.parametrize("migrate", [False, True])
def test_nothing_is_lost_between_pools(migrate: bool) -> None:
    trace = poisson(3000, 30.0)
    of = with_pools(copies=2, prefill=small(2), decode=small(2))
    for scope in ("deployment", "copy"):
        done, found = run(of, trace, scope=scope, outages=storm(migrate, "prefill", "decode"))
        assert (found["request"] == np.arange(3000)).all()
        assert (found["output"] == trace.output).all()
        assert (found["second"][trace.output > 1] >= found["first"][trace.output > 1]).all()
        uses = outcome(done).pools
        interrupted = sum(use.interrupted for use in uses.values())
        assert found["failures"].sum() == interrupted > 50


def test_the_same_seed_is_the_same_run() -> None:
    trace, of = poisson(800, 40.0), with_pools(serve=small(4))
    runs = [run(of, trace, outages=storm(True, "serve"))[1] for _ in range(2)]
    assert all((runs[0][name] == runs[1][name]).all() for name in runs[0])
    other = run(of, trace, outages=msgspec.structs.replace(storm(True, "serve"), seed=4))[1]
    assert (other["finish"] != runs[0]["finish"]).any()


def test_an_outage_that_does_not_come_changes_nothing() -> None:
    trace, of = poisson(1500, 40.0), with_pools(serve=small(4))
    late = Outages(planned=(Outage(time=1e9, role="serve", replica=0),))
    plain, watched = (run(of, trace, outages=outages) for outages in (None, late))
    for name in ("admitted", "first", "finish", "replica"):
        assert (plain[1][name] == watched[1][name]).all(), name
    one, two = (outcome(done) for done, _ in (plain, watched))
    assert one.watts == pytest.approx(two.watts)
    assert one.gpu_hours == pytest.approx(two.gpu_hours)
    assert not one.changes


def test_availability_is_that_of_an_alternating_renewal() -> None:
    """Up 20 s on average, out for 3 s: 20 / 23 of the time, and less where a start is out too."""
    trace, of = poisson(20_000, 40.0), with_pools(serve=small(4))
    done, _ = run(of, trace, outages=storm(False, "serve"))
    assert outcome(done).pools["serve"].up / 4 == pytest.approx(20 / 23, rel=0.05)


def test_a_pool_that_is_gone_for_good() -> None:
    trace, of = poisson(1000, 40.0), with_pools(serve=small(2))
    planned = tuple(Outage(time=10.0, role="serve", replica=each) for each in (0, 1))
    done, found = run(of, trace, outages=Outages(planned=planned))
    answer = outcome(done)
    assert done.stuck
    assert 0 < answer.finished < 1000
    assert answer.unserved == 1000 - answer.finished
    assert found["finish"].max() <= 10.0
    assert answer.gpu_hours == pytest.approx(2 * 10.0 / HOUR)


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_one_of_two_pools_is_gone_for_good(role: str) -> None:
    """And in one copy only: the other serves what is dealt to it from then on."""
    trace = poisson(1000, 20.0)
    planned = tuple(Outage(time=10.0, role=role, replica=each) for each in (0, 1))
    of = with_pools(prefill=small(2), decode=small(2))
    done, _ = run(of, trace, outages=Outages(planned=planned))
    assert done.stuck
    assert outcome(done).unserved > 700
    of = with_pools(copies=2, prefill=small(1), decode=small(1))
    first = Outages(planned=planned[:1], recovery=Recovery(True, 1.0))
    done, found = run(of, trace, scope="copy", outages=first)
    assert len(found["request"]) == 1000 or done.stuck
    assert len(found["request"]) > 980  # caches of the copy whose decode replica is gone wait on


def test_a_failure_is_no_overload() -> None:
    """All are out when arrivals end: the queue grows, and is served when they are back."""
    trace, of = poisson(2000, 40.0), with_pools(serve=small(2))
    end = float(trace.arrival[-1])
    planned = tuple(
        Outage(time=0.7 * end, role="serve", replica=each, length=2.0 * end) for each in (0, 1)
    )
    done, found = run(of, trace, outages=Outages(planned=planned))
    assert not done.overloaded
    assert len(found["request"]) == 2000
    for_good = tuple(msgspec.structs.replace(each, length=np.inf) for each in planned[:1])
    trace = poisson(20_000, 230.0)
    done, _ = run(of, trace, outages=Outages(planned=for_good))
    assert done.overloaded


def test_autoscaling_follows_the_load() -> None:
    """From 1 to as many as 40 requests in flight need, and back; replicas off cost nothing."""
    quick, slow = poisson(8000, 160.0), poisson(2000, 4.0, seed=2)
    later = quick.arrival[-1] + slow.arrival
    columns = {
        name: np.concatenate([getattr(quick, name), getattr(slow, name)])
        for name in ("input", "output")
    }
    trace = Trace.of(np.concatenate([quick.arrival, later]), **columns)
    of = with_pools(serve=small(1, scale()))
    done, found = run(of, trace)
    answer, use = outcome(done), outcome(done).pools["serve"]
    assert len(found["request"]) == 10_000
    up = readings(done, "serve", READINGS.index("up"))
    assert up[0] == 1
    assert up.max() == 8
    assert up[-1] == 1
    assert use.starts - use.stops == up[-1] - 1
    fixed, _ = run(with_pools(serve=small(8)), trace)
    assert answer.gpu_hours < 0.5 * outcome(fixed).gpu_hours
    assert answer.cost == answer.gpu_hours * done.deployment.cluster.price
    seconds = np.trapezoid(up, done.timeline.times) / HOUR
    assert gpu_hours(done) == pytest.approx(seconds, rel=0.15)  # starts and drains come on top


def test_a_longer_start_up_is_felt() -> None:
    trace = poisson(6000, 150.0)
    felt = {
        delay: outcome(run(with_pools(serve=small(1, scale(start_up=delay))), trace)[0]).ttft.p99
        for delay in (0.0, 30.0)
    }
    assert felt[0.0] < felt[30.0]


def test_the_default_start_up_is_the_engines_and_its_weights() -> None:
    made = with_pools(serve=small(1, scale(start_up=None)))
    done, _ = run(made, poisson(50, 10.0))
    weights = made.memory["serve"].weights
    wanted = 240.0 + weights / 1.3e9
    assert done.runner.pools["serve"].stand.scaling.start_up == pytest.approx(wanted)


def test_each_copy_scales_by_itself() -> None:
    of = with_pools(copies=3, serve=small(1, scale(most=2)))
    done, found = run(of, poisson(3000, 120.0), scope="copy")
    assert len(found["request"]) == 3000
    stand = done.runner.pools["serve"].stand
    assert len(stand.replicas) == 6
    assert stand.scaling.advice.shape == (3, 12)
    assert (stand.scaling.least, stand.scaling.most) == (1, 2)
    whole, _ = run(of, poisson(3000, 120.0))
    assert whole.runner.pools["serve"].stand.scaling.most == 6


def test_pipelines_fail_as_a_whole() -> None:
    stages = msgspec.structs.replace(small(2).layout, pipeline=2)
    of = with_pools(serve=small(2, layout=stages))
    planned = (Outage(time=5.0, role="serve", replica=1, length=20.0),)
    done, found = run(of, poisson(1500, 40.0), outages=Outages(planned=planned))
    assert len(found["request"]) == 1500
    out = (found["arrival"] > 5.0) & (found["arrival"] < 25.0)
    assert set(found["replica"][out & (found["admitted"] < 25.0)]) == {0, 1}
    assert outcome(done).pools["serve"].gpus == 4
