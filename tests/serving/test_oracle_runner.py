"""Whole deployments: what the oracle and the kernel simulate is the same for every request."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.serving.test_changes import run, scale, small, storm, with_pools
from tests.serving.test_simulation import poisson, served

from racktwin.engine.offload import Offload
from racktwin.models.layout import Layout
from racktwin.serving.outages import Outage, Outages
from racktwin.serving.outcome import Outcome, outcome
from racktwin.serving.ragged import Ragged
from racktwin.serving.simulation import Simulation
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace
from racktwin.units import Bytes

APART = {"cpu", "itl", "ttft", "tpot", "e2e", "queue", "ttst", "pools", "classes", "span"}


def conversations(count: int = 240, gap: float = 0.02) -> Trace:
    """Sessions of four turns, each begins with all that was said before, in blocks of 16."""
    turn, session = np.arange(count) % 4, np.arange(count) // 4
    arrival = np.sort(session * 4 * gap + turn * 0.5)
    order = np.argsort(session * 4 * gap + turn * 0.5, kind="stable")
    place = np.empty(count, int)
    place[order] = np.arange(count)
    input = 160 * (turn + 1)
    rows = [np.arange(session[n] * 1000, session[n] * 1000 + input[n] // 16) for n in order]
    after = np.where(turn > 0, place[np.arange(count) - 1], -1)
    return Trace.of(
        arrival,
        input[order],
        np.full(count, 40),
        after=after[order],
        pause=np.where(turn > 0, 0.3, 0.0)[order],
        session=session[order],
        prefix=Ragged.of(rows),
        block_size=16,
    )


def both(of: Served, trace: Trace, **order: Any) -> tuple[Outcome, Outcome]:
    """Outcomes of kernel and oracle; every column of every request is the same to the bit."""
    done, found = run(of, trace, **order)
    other, expected = run(of, trace, oracle=True, **order)
    assert found.keys() == expected.keys()
    for name, column in found.items():
        assert np.array_equal(column, expected[name], equal_nan=column.dtype.kind == "f"), name
    alike(done, other)
    return outcome(done), outcome(other)


def alike(done: Simulation, other: Simulation) -> None:
    """What was read off kernel and oracle agrees, but for rounding and where a stretch is cut."""
    found, expected = outcome(done), outcome(other)
    for name in set(Outcome.__struct_fields__) - APART:
        one, two = getattr(found, name), getattr(expected, name)
        assert one == (pytest.approx(two, rel=0.02) if isinstance(two, float) else two), name
    for name in ("ttft", "tpot", "e2e", "queue"):
        assert getattr(found, name).mean == pytest.approx(getattr(expected, name).mean, rel=1e-9)
    for role, use in expected.pools.items():
        for name, value in msgspec.structs.asdict(use).items():
            own = getattr(found.pools[role], name)
            assert own == pytest.approx(value, rel=0.02, abs=1e-6), (role, name)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
@pytest.mark.parametrize("router", ["round_robin", "least_kv", "power_of_two"])
def test_engines_and_routers(engine: str, router: str) -> None:
    found, _ = both(served(engine), poisson(600, 60.0), router=router)
    assert found.finished == 600


def test_ranks_in_lock_step_and_pipelines() -> None:
    wide = small(2, layout=Layout(attention_data=2))
    both(with_pools(copies=2, engine="trtllm-1.3", serve=wide), poisson(500, 60.0), scope="copy")
    both(with_pools(serve=small(2, layout=Layout(pipeline=2))), poisson(500, 60.0))


def test_closed_loops_that_end_early() -> None:
    found, _ = both(served(), poisson(2000, 1.0), concurrency=24, until=20.0)
    assert 24 < found.finished < 2000


@pytest.mark.parametrize("router", ["prefix_aware", "kv_aware", "round_robin"])
def test_sessions_with_prefixes(router: str) -> None:
    found, _ = both(served(), conversations(), router=router)
    assert found.hits > 0.1


def test_tiers_below_the_caches() -> None:
    of = with_pools(serve=small(2))
    tiers = Offload(host=Bytes(2e9), shared=Bytes(4e9))
    of = Served(msgspec.structs.replace(of.deployment, offload=tiers, memory_fraction=0.06))
    found, other = both(of, conversations(gap=0.01), router="round_robin")
    assert found.host == other.host
    assert found.host.hits + found.shared.hits > 0


def test_separate_pools() -> None:
    pools = {"prefill": small(2), "decode": small(3)}
    of = with_pools(copies=2, engine="trtllm-1.3", **pools)
    found, _ = both(of, poisson(600, 60.0), scope="copy")
    assert found.finished == 600
    both(of, conversations(), router="kv_aware")
    both(of, poisson(300, 60.0), outages=storm(True, "prefill", "decode"))


def test_failures_drains_and_autoscaling() -> None:
    of = with_pools(serve=small(2, scale(target=4.0, start_up=2.0)))
    found, _ = both(of, poisson(1500, 50.0), outages=storm(False, "serve"))
    use = found.pools["serve"]
    assert min(use.failures, use.interrupted, use.starts) > 3
    drain = Outage(time=3.0, role="serve", replica=0, drain=True, length=1.0, stride=1, end=4)
    found, _ = both(served(), poisson(600, 60.0), outages=Outages(planned=(drain,)))
    assert found.pools["serve"].drains == 4


def test_nobody_is_left() -> None:
    gone = Outages(planned=tuple(Outage(time=2.0, role="serve", replica=n) for n in range(4)))
    found, other = both(served(), poisson(400, 60.0), outages=gone)
    assert found.unserved == other.unserved > 0
    assert math.isinf(gone.planned[0].length)


def test_the_power_of_two_draws_by_the_place_in_the_stream() -> None:
    """Not by that among the requests that are still known, which depends on the resolution."""
    trace = poisson(6000, 60.0)
    _, expected = run(served(), trace, oracle=True, router="power_of_two")
    for resolution in (0.5, 30.0):
        _, found = run(served(), trace, router="power_of_two", resolution=resolution)
        assert np.array_equal(found["replica"], expected["replica"])
