"""Tiers below the prefix caches: the kernel against its oracle, and schedules by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool
from tests.serving.test_oracle import agree, engines, in_order, loads
from tests.serving.test_oracle_pair import apart
from tests.serving.test_sharing import ROUTERS, SEEDS, SMALL, alike, caching, left_clean

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request
from racktwin.serving.oracle_pair import Pool, simulate
from racktwin.serving.pool import Pool as State
from racktwin.serving.prefix_cache import idle_units

MOVED = ("from_host", "from_shared", "to_host", "to_shared")


@st.composite
def tiered(draw: st.DrawFn) -> Rules:
    """Engines with tiers below their prefix caches, short of everything."""
    return draw(caching())._replace(
        host=draw(st.sampled_from([0, 2, 5, 40])),
        shared=draw(st.sampled_from([0, 0, 3, 12, 200])),
        evict=draw(st.booleans()),
        layered=draw(st.booleans()),
        host_pace=draw(st.sampled_from([0.0, 0.0013, 0.05])),
        shared_pace=draw(st.sampled_from([0.0017, 0.09])),
        credit=draw(st.sampled_from([0.75, 1.0])),
    )


def within_their_room(found: State) -> None:
    """No tier ever holds more than its room: it drops one before it takes one in."""
    rules, places = found.rules, found.state.ranks.size
    held = idle_units(found.state.cache)[places:]
    if rules.host or rules.shared:
        assert (held[:places] <= rules.host).all()
        assert held[places] <= rules.shared


@settings(max_examples=100)
@given(engine=tiered(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS)
def test_open_load(engine: Rules, gaps: list[Request], router: str, seed: int) -> None:
    requests = alike(in_order(gaps), engine.unit, seed)
    results = agree(engine, requests, 0, replicas=2, router=router)
    assert len(results) == len(gaps)
    for result in results:
        assert result.cached_host + result.cached_shared <= result.cached


@settings(max_examples=40)
@given(engine=tiered(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS, data=st.data())
def test_sessions(
    engine: Rules, gaps: list[Request], router: str, seed: int, data: st.DataObject
) -> None:
    requests = in_order(gaps)
    for number in range(1, len(requests)):
        after = data.draw(st.integers(-1, number - 1))
        requests[number] = requests[number]._replace(after=after, pause=0.05)
    agree(engine, alike(requests, engine.unit, seed), 2, replicas=2, router=router)


@settings(max_examples=40)
@given(first=tiered(), second=engines(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS)
def test_separate_pools(
    first: Rules, second: Rules, gaps: list[Request], router: str, seed: int
) -> None:
    requests = alike(apart(gaps), first.unit, seed)
    prefill = Pool(first, pool.uneven(1), 2, router)
    decode = Pool(second, pool.uneven(2), 1, "least_outstanding")
    expected = simulate(prefill, decode, requests, 0.0017, 1.3e-3)
    found, pools = pool.run_pair(prefill, decode, requests, (0.0017, 1.3e-3))
    assert found == expected
    within_their_room(pools["prefill"])


@settings(max_examples=40)
@given(
    engine=tiered(),
    gaps=loads,
    cuts=st.lists(st.floats(0, 5), max_size=6).map(sorted),
    seed=SEEDS,
)
def test_neither_cuts_nor_room_to_grow_change_anything(
    engine: Rules, gaps: list[Request], cuts: list[float], seed: int
) -> None:
    requests = alike(in_order(gaps), engine.unit, seed)
    whole = pool.run(engine, pool.uneven(), requests, 2)
    pieces = pool.run(engine, pool.uneven(), requests, 2, cuts=cuts, slots=2)
    assert whole.results == pieces.results
    assert [whole.sums[name] for name in MOVED] == [pieces.sums[name] for name in MOVED]
    for found in (whole.pool, pieces.pool):
        left_clean(found)
        within_their_room(found)


@settings(max_examples=40)
@given(engine=caching(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS)
def test_tiers_without_room_change_no_bit(
    engine: Rules, gaps: list[Request], router: str, seed: int
) -> None:
    requests = alike(in_order(gaps), engine.unit, seed)
    off = pool.run(engine, pool.uneven(), requests, 2, router)
    paces = {"host_pace": 0.05, "shared_pace": 0.05, "evict": True, "layered": False}
    empty = pool.run(engine._replace(**paces), pool.uneven(), requests, 2, router)
    assert off.results == empty.results
    assert off.sums == empty.sums


def test_the_loads_are_hard_enough() -> None:
    """Both tiers are written, read and full in loads like the above."""
    gaps = [Request(0.05, 40 + n % 17, 30 + n % 13, n % 3) for n in range(60)]
    requests = alike(in_order(gaps), 4, 1)
    paces = {"host_pace": 0.002, "shared_pace": 0.005}
    engine = pool.rules(blocks=40, ranks=2, unit=4, host=8, shared=30, **paces)
    found = pool.run(engine, pool.uneven(), requests, 2)
    for name in MOVED:
        assert found.sums[name] > 10, name
    assert idle_units(found.pool.state.cache)[4:].tolist() == [8, 8, 8, 8, 30]
    agree(engine, requests, 0, replicas=2)


TURNS = [  # A; B takes its room in the GPU's cache of 6 blocks; A again, 8 of 12 tokens known
    Request(0.0, 12, 1, ids=(1, 2, 3)),
    Request(10.0, 24, 1, ids=(4, 5, 6, 7, 8, 9)),
    Request(20.0, 12, 1, ids=(1, 2, 3)),
]
TIGHT = SMALL._replace(blocks=6, budget=64)


@pytest.mark.parametrize("evict", [False, True])
@pytest.mark.parametrize(("host", "cached"), [(0, 0), (1, 0), (3, 0), (9, 8)])
def test_what_the_gpu_dropped_is_found_in_host_memory(evict: bool, host: int, cached: int) -> None:
    """Host memory has A's three units while it holds all nine: B used six after them.

    At eviction it gets only A's three: room for one keeps the first, which was dropped last.
    """
    found = pool.run(TIGHT._replace(host=host, evict=evict), pool.constant(), TURNS)
    last = found.results[2]
    if evict:
        cached = {0: 0, 1: 4, 3: 8, 9: 8}[host]
    assert (last.cached, last.cached_host, last.cached_shared) == (cached, cached, 0)
    assert found.sums["from_host"] == cached / 4


@pytest.mark.parametrize(
    ("layered", "host_pace", "seconds"),
    [(True, 0.3, 1.0), (True, 0.75, 1.5), (False, 0.3, 1.6), (False, 0.75, 2.5)],
)
def test_a_step_lasts_at_least_the_load(layered: bool, host_pace: float, seconds: float) -> None:
    """Two units of 0.3 or 0.75 s beside, or before, a step of 1 s."""
    asked = TIGHT._replace(host=9, host_pace=host_pace, layered=layered)
    found = pool.run(asked, pool.constant(), TURNS)
    assert found.results[2].first == 20.0 + seconds
    assert found.results[1].first == 11.0  # nothing is loaded for B


def test_units_of_the_pool_cross_both_links() -> None:
    """A unit from each: 2 x 0.9 s over the link, 1 x 2.5 s over the network port.

    Of A's units host memory has kept the first (used last) beside B's six, the pool all.
    """
    asked = TIGHT._replace(host=7, shared=9, host_pace=0.9, shared_pace=2.5)
    last = pool.run(asked, pool.constant(), TURNS).results[2]
    assert (last.cached, last.cached_host, last.cached_shared) == (8, 4, 4)
    assert last.first == 22.5
    slow = asked._replace(host_pace=1.5)
    assert pool.run(slow, pool.constant(), TURNS).results[2].first == 23.0


def test_what_replicas_share() -> None:
    """The second replica finds in the pool what the first computed, and keeps it in host memory."""
    requests = [Request(10.0 * n, 12, 1, ids=(1, 2, 3)) for n in range(4)]
    asked = SMALL._replace(host=9, shared=9)
    found = pool.run(asked, pool.constant(), requests, 2)
    tiers = [(each.cached, each.cached_shared) for each in found.results]
    assert tiers == [(0, 0), (8, 8), (8, 0), (8, 0)]
    sums = {name: found.sums[name] for name in ("from_shared", "to_shared", "to_host")}
    assert sums == {"from_shared": 2, "to_shared": 3, "to_host": 6}


def test_a_tier_keeps_what_was_used_last() -> None:
    """Prompts of one unit in host memory for two: the first, used again, outlives the second."""
    requests = [
        Request(0.0, 5, 1, ids=(1, 20)),
        Request(10.0, 5, 1, ids=(2, 21)),
        Request(20.0, 5, 1, ids=(1, 22)),  # found on the GPU: used
        Request(30.0, 5, 1, ids=(3, 23)),  # drops 2
        Request(40.0, 5, 1, ids=(1, 24)),
        Request(50.0, 5, 1, ids=(2, 25)),
    ]
    asked = SMALL._replace(blocks=4, host=2)
    found = pool.run(asked, pool.constant(), requests)
    assert [each.cached for each in found.results] == [0, 0, 4, 0, 4, 4]
    tight = pool.run(asked._replace(blocks=2), pool.constant(), requests)
    assert [each.cached for each in tight.results] == [0, 0, 4, 0, 4, 0]
    assert [each.cached_host for each in tight.results] == [0, 0, 4, 0, 4, 0]


@pytest.mark.parametrize(
    ("router", "credit", "cached"),
    [("kv_aware", 1.0, 8), ("kv_aware", 0.75, 0), ("prefix_aware", 0.75, 8)],
)
def test_how_much_host_memory_weighs(router: str, credit: float, cached: int) -> None:
    """Replica 0 has 8 tokens of the last prompt in host memory, and keeps 7 tokens of another.

    7 - 1.0 x 8 is less than nothing on replica 1, 7 - 0.75 x 8 is more.
    """
    requests = [*TURNS[:2], Request(20.0, 4, 60), TURNS[0]._replace(arrival=24.5)]
    asked = TIGHT._replace(host=9, credit=credit)
    found = pool.run(asked, pool.constant(), requests, 2, router)
    assert found.results[-1].cached == cached


@settings(max_examples=30)
@given(gaps=loads, unit=st.sampled_from([4, 8]), evict=st.booleans(), seed=SEEDS)
def test_with_time_and_room_below_every_repeated_unit_is_found(
    gaps: list[Request], unit: int, evict: bool, seed: int
) -> None:
    """However little the GPU's own cache holds."""
    requests = alike([gap._replace(arrival=0.0) for gap in gaps], unit, seed)
    apart = [each._replace(arrival=1000.0 * n) for n, each in enumerate(requests)]
    asked = pool.rules(blocks=32, unit=unit, host=10**4, evict=evict)
    found = pool.run(asked, pool.uneven(), apart)
    seen: set[int] = set()
    loaded = 0
    for request, result in zip(apart, found.results, strict=True):
        full = request.ids[: request.prompt // unit]
        hits = next((n for n, each in enumerate(full) if each not in seen), len(full))
        assert result.cached == min(hits, (request.prompt - 1) // unit) * unit
        loaded += result.cached_host // unit
        seen |= set(full)
    assert found.sums["from_host"] == loaded
    if not evict:
        assert found.sums["to_host"] == len(seen)


def test_nothing_made_of_numbers_is_left_out() -> None:
    """Loaded and computed tokens are the prompt tokens, whichever tier they came from."""
    gaps = [Request(2.0, 40 + n % 17, 3, 0) for n in range(40)]
    requests = alike(in_order(gaps), 4, 3)
    engine = pool.rules(blocks=30, unit=4, host=12, shared=60, host_pace=0.001, shared_pace=0.01)
    found = pool.run(engine, pool.uneven(), requests, 2)
    assert not any(each.losses for each in found.results)
    cached = np.array([each.cached for each in found.results])
    assert found.sums["prefill_tokens"] == sum(each.prompt for each in requests) - cached.sum()
    below = sum(each.cached_host + each.cached_shared for each in found.results)
    assert 4 * (found.sums["from_host"] + found.sums["from_shared"]) == below
