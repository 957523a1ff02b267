"""The kernel and its oracle agree bit by bit, whatever the engine and the load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request, Result, simulate
from racktwin.serving.oracle_router import ROUTERS
from racktwin.serving.router import ROUTERS as COMPILED

LOOSE = {"block_seconds": 0.02}  # the kernel takes the mean context of a stretch of steps

requests = st.builds(
    Request,
    arrival=st.sampled_from([0.0, 0.003, 0.02, 0.11]),  # since the one before
    prompt=st.integers(1, 60),
    output=st.integers(1, 60),
    priority=st.sampled_from([0, 0, 1, 2]),
    after=st.just(-1),
    pause=st.just(0.0),
    ids=st.just(()),
    images=st.sampled_from([0, 0, 7, 40]).map(pool.pictures),
)
loads = st.lists(requests, min_size=1, max_size=8) | st.lists(requests, min_size=20, max_size=40)


@st.composite
def engines(draw: st.DrawFn) -> Rules:
    """Engines of all kinds, short of blocks."""
    block = draw(st.sampled_from([1, 4, 16]))
    return pool.rules(
        ranks=draw(st.sampled_from([1, 2, 4])),
        max_batch=draw(st.integers(1, 9)),
        budget=draw(st.integers(4, 40)),
        block=block,
        blocks=-(-122 // block) + draw(st.integers(0, 60 // block)),
        queries=draw(st.integers(1, 2)),
        gain=draw(st.sampled_from([1.0, 6554 / 4096])),
        reserve=draw(st.integers(0, 2)),
        mixed=(mixed := draw(st.booleans())),
        singly=not mixed and draw(st.booleans()),
        balance=draw(st.sampled_from([0, 0, 3, 8])),
        chunked=draw(st.booleans()),
    )


def in_order(gaps: list[Request]) -> list[Request]:
    """Arrivals from the times between them."""
    times = np.cumsum([request.arrival for request in gaps]).tolist()
    return [gap._replace(arrival=time) for gap, time in zip(gaps, times, strict=True)]


def agree(asked: Rules, requests: list[Request], seed: int, **rest: Any) -> list[Result]:
    """Run both, and compare them."""
    clock = pool.uneven(seed)
    found = pool.run(asked, clock, requests, **rest)
    rest["concurrency"] = rest.get("concurrency") or None
    results, sums = simulate(asked, clock, requests, **rest)
    assert found.results == results
    for name, value in sums.items():
        assert found.sums[name] == pytest.approx(value, rel=LOOSE.get(name, 1e-9)), name
        assert value >= 0, name
    return results


@settings(max_examples=200)
@given(engine=engines(), gaps=loads, replicas=st.integers(1, 3), seed=st.integers(0, 3))
def test_open_load(engine: Rules, gaps: list[Request], replicas: int, seed: int) -> None:
    results = agree(engine, in_order(gaps), seed, replicas=replicas)
    assert len(results) == len(gaps)


def test_the_loads_are_hard_enough() -> None:
    """Preemption, prompts in chunks and queues do happen in loads like the above."""
    gaps = [Request(0.01, 40 + n % 17, 30 + n % 13, n % 3) for n in range(40)]
    engine = pool.rules(blocks=40, ranks=2)
    results = agree(engine, in_order(gaps), 0)
    assert sum(result.losses for result in results) > 10
    assert max(result.admitted - result.arrival for result in results) > 1.0


@pytest.mark.parametrize("router", ROUTERS)
@settings(max_examples=15)
@given(engine=engines(), gaps=loads)
def test_routers(router: str, engine: Rules, gaps: list[Request]) -> None:
    agree(engine, in_order(gaps), 0, replicas=3, router=router)
    agree(engine, in_order(gaps), 0, replicas=6, router=router, scopes=3)


def test_the_oracle_knows_every_router() -> None:
    assert tuple(ROUTERS) == COMPILED


@settings(max_examples=20)
@given(engine=engines(), gaps=loads, concurrency=st.integers(1, 12))
def test_closed_loop(engine: Rules, gaps: list[Request], concurrency: int) -> None:
    requests = [gap._replace(arrival=0.0) for gap in gaps]
    rest = {"router": "least_outstanding", "concurrency": concurrency}
    results = agree(engine, requests, 1, replicas=2, **rest)
    assert len(results) == len(requests)


@settings(max_examples=20)
@given(engine=engines(), gaps=loads, data=st.data())
def test_sessions(engine: Rules, gaps: list[Request], data: st.DataObject) -> None:
    requests = in_order(gaps)
    for number in range(1, len(requests)):
        after = data.draw(st.integers(-1, number - 1))
        pause = data.draw(st.sampled_from([0.0, 0.05, 0.5]))
        requests[number] = requests[number]._replace(after=after, pause=pause)
    results = agree(engine, requests, 2, replicas=2)
    for result in results:
        request = requests[result.number]
        if request.after >= 0:
            ended = results[request.after].finish
            assert result.arrival == max(request.arrival, ended + request.pause)
    closed = {"router": "least_outstanding", "concurrency": data.draw(st.integers(1, 6))}
    assert len(agree(engine, requests, 2, replicas=2, **closed)) == len(requests)


@settings(max_examples=30)
@given(
    engine=engines(),
    gaps=loads,
    cuts=st.lists(st.floats(0, 5), max_size=6).map(sorted),
    router=st.sampled_from(["round_robin", "least_kv"]),
)
def test_where_a_run_is_cut_changes_nothing(
    engine: Rules, gaps: list[Request], cuts: list[float], router: str
) -> None:
    requests, clock = in_order(gaps), pool.uneven()
    whole = pool.run(engine, clock, requests, 2, router)
    pieces = pool.run(engine, clock, requests, 2, router, cuts=cuts)
    assert whole.results == pieces.results


def test_a_request_by_hand() -> None:
    """Two prompts share the budget of 16; then one token a step each."""
    requests = [Request(0.0, 10, 5), Request(0.5, 20, 3)]
    results, sums = simulate(pool.rules(), pool.constant(), requests)
    assert results == [
        Result(0, 0.0, 0.0, 1.0, 5.0, 0, second=2.0, read=1.0),
        # 15 tokens beside a decoding one, then 5, then decode; it came in the middle of the first
        Result(1, 0.5, 1.0, 3.0, 5.0, 0, second=4.0, read=0.5),
    ]
    assert sums["prefill_tokens"] == 30
    assert sums["decode_tokens"] == 4 + 2
    assert sums["joules"] == 5 * pool.WATTS
