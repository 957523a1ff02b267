"""Prefixes that requests share: the kernel against its oracle, and schedules by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool
from tests.serving.test_oracle import agree, engines, in_order, loads
from tests.serving.test_oracle_pair import apart

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request
from racktwin.serving.oracle_pair import Pool, simulate
from racktwin.serving.pool import Pool as State
from racktwin.serving.prefix_cache import LEFT, OWED, idle_units

ROUTERS = ("round_robin", "least_outstanding", "prefix_aware", "kv_aware")
SEEDS = st.integers(0, 1 << 30)
SMALL = pool.rules(unit=4)  # a block is a unit


@st.composite
def caching(draw: st.DrawFn) -> Rules:
    """Engines with a prefix cache, short of blocks."""
    engine = draw(engines())
    return engine._replace(unit=engine.block * draw(st.sampled_from([1, 2])))


def alike(requests: list[Request], unit: int, seed: int) -> list[Request]:
    """The requests with ids, many beginning like others; equal ids stand behind equal ids."""
    draw, texts, given = np.random.default_rng(seed), {}, []
    for number, request in enumerate(requests):
        count, text = -(-request.prompt // unit), [0]
        if request.after >= 0 and draw.random() < 0.7:
            text += given[request.after].ids[: requests[request.after].prompt // unit]
        while len(text) <= count:
            said = (text[-1], int(draw.choice([0, 0, 0, 1, number + 2])))
            text.append(texts.setdefault(said, len(texts) + 1))
        given.append(request._replace(ids=tuple(text[1 : count + 1])))
    return given


def left_clean(found: State) -> None:
    """Nothing is held by anybody any more, and what idles fits."""
    cache, rules = found.state.cache, found.rules
    assert not found.state.ranks["used"].any()
    assert not found.state.replicas["shared"].any()
    assert cache.marks[OWED] == 0
    idle = idle_units(cache)
    assert len(cache.entries) - cache.marks[LEFT] == idle.sum()
    if rules.unit:
        idle = idle[: found.state.ranks.size]
        assert (idle * rules.unit <= rules.blocks * rules.block).all()


@settings(max_examples=150)
@given(engine=caching(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS)
def test_open_load(engine: Rules, gaps: list[Request], router: str, seed: int) -> None:
    requests = alike(in_order(gaps), engine.unit, seed)
    results = agree(engine, requests, 0, replicas=2, router=router)
    assert len(results) == len(gaps)


@settings(max_examples=50)
@given(engine=caching(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS, data=st.data())
def test_sessions(
    engine: Rules, gaps: list[Request], router: str, seed: int, data: st.DataObject
) -> None:
    requests = in_order(gaps)
    for number in range(1, len(requests)):
        after = data.draw(st.integers(-1, number - 1))
        requests[number] = requests[number]._replace(after=after, pause=0.05)
    agree(engine, alike(requests, engine.unit, seed), 2, replicas=2, router=router)


@settings(max_examples=50)
@given(first=caching(), second=engines(), gaps=loads, router=st.sampled_from(ROUTERS), seed=SEEDS)
def test_separate_pools(
    first: Rules, second: Rules, gaps: list[Request], router: str, seed: int
) -> None:
    requests = alike(apart(gaps), first.unit, seed)
    prefill = Pool(first, pool.uneven(1), 2, router)
    decode = Pool(second, pool.uneven(2), 1, "least_outstanding")
    expected = simulate(prefill, decode, requests, 0.0017, 1.3e-3)
    found, pools = pool.run_pair(prefill, decode, requests, (0.0017, 1.3e-3))
    assert found == expected
    for each in pools.values():
        left_clean(each)


@settings(max_examples=30)
@given(
    engine=caching(),
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
    left_clean(whole.pool)
    left_clean(pieces.pool)


def test_the_loads_are_hard_enough() -> None:
    """Hits, evictions and preemption do happen in loads like the above."""
    gaps = [Request(0.05, 40 + n % 17, 30 + n % 13, n % 3) for n in range(60)]
    requests = alike(in_order(gaps), 4, 1)
    results = agree(pool.rules(blocks=40, ranks=2, unit=4), requests, 0)
    assert sum(result.losses for result in results) > 10
    roomy = agree(pool.rules(blocks=4000, ranks=2, unit=4), requests, 0)
    hits = [sum(result.cached for result in each) for each in (results, roomy)]
    assert 0.1 * hits[1] < hits[0] < 0.8 * hits[1]


def test_a_request_without_a_whole_unit_needs_no_room() -> None:
    """Entries that are used and still owed leave less than nothing."""
    requests = [Request(0.0, 40, 40, ids=tuple(range(10))), Request(20.0, 1, 1, ids=(99,))]
    found = pool.run(SMALL, pool.constant(), requests, slots=2)
    assert found.results[1].finish == 21.0


def test_one_token_is_computed() -> None:
    """Of 12 tokens that are all known 8 are found; a prompt under way cannot be found yet."""
    requests = [
        Request(0.0, 12, 2, ids=(1, 2, 3)),
        Request(0.5, 12, 2, ids=(1, 2, 3)),
        Request(9.0, 13, 2, ids=(1, 2, 3, 4)),
    ]
    found = pool.run(SMALL, pool.constant(), requests)
    assert [each.cached for each in found.results] == [0, 8, 12]
    assert found.steps == [(12, 0), (4, 1), (0, 1), (1, 0), (0, 1)]


def test_an_answer_is_found_by_the_next_turn() -> None:
    """12 + 6 tokens leave 17 in the cache: of the 20 the next turn begins with, 16 in whole units.

    A turn that begins otherwise finds nothing of the answer.
    """
    requests = [
        Request(0.0, 12, 6, ids=(1, 2, 3)),
        Request(0.0, 20, 1, after=0, pause=1.0, ids=(1, 2, 3, 4, 5)),
        Request(0.0, 20, 1, after=0, pause=9.0, ids=(1, 2, 8, 9, 10)),
    ]
    found = pool.run(SMALL, pool.constant(), requests)
    assert [each.cached for each in found.results] == [0, 16, 8]


def test_the_longest_idle_goes_first_and_of_one_request_the_last_block() -> None:
    """6 blocks: A leaves 3 and B 2; C takes the free one and the last two of A.

    A then finds its first; its three new ones cost both of B.
    """
    requests = [
        Request(0.0, 12, 1, ids=(1, 2, 3)),
        Request(10.0, 8, 1, ids=(4, 5)),
        Request(20.0, 12, 1, ids=(6, 7, 8)),
        Request(30.0, 13, 1, ids=(1, 2, 3, 9)),
        Request(40.0, 9, 1, ids=(4, 5, 10)),
    ]
    found = pool.run(SMALL._replace(blocks=6), pool.constant(), requests)
    assert [each.cached for each in found.results] == [0, 0, 0, 4, 0]


def test_shared_blocks_count_once() -> None:
    """Four requests that grow to 5 blocks, 2 of them shared by all, run together in 14."""
    requests = [Request(0.0, 12, 1, ids=(1, 2, 3))]
    requests += [Request(5.0, 12, 9, ids=(1, 2, 10 + n)) for n in range(4)]
    asked = SMALL._replace(blocks=14, max_batch=4)
    tight = pool.run(asked, pool.constant(), requests)
    assert [each.admitted for each in tight.results] == [0.0, 5.0, 5.0, 5.0, 5.0]
    assert not any(each.losses for each in tight.results)
    alone = pool.run(asked._replace(unit=0), pool.constant(), requests)
    assert max(each.finish for each in alone.results) > max(each.finish for each in tight.results)


def test_routers_go_where_the_prefix_is() -> None:
    """The third prompt begins like the second, which the other replica has."""
    requests = [
        Request(0.0, 8, 3, ids=(1, 2)),
        Request(0.5, 8, 3, ids=(3, 4)),
        Request(9.0, 9, 1, ids=(3, 4, 5)),
    ]
    cached = {
        router: pool.run(SMALL, pool.constant(), requests, 2, router).results[2].cached
        for router in ROUTERS
    }
    assert cached == {
        "round_robin": 0,
        "least_outstanding": 0,
        "prefix_aware": 8,
        "kv_aware": 8,
    }


@settings(max_examples=30)
@given(gaps=loads, unit=st.sampled_from([4, 8]), seed=SEEDS)
def test_with_time_and_room_every_repeated_unit_is_found(
    gaps: list[Request], unit: int, seed: int
) -> None:
    requests = alike([gap._replace(arrival=0.0) for gap in gaps], unit, seed)
    apart = [each._replace(arrival=1000.0 * n) for n, each in enumerate(requests)]
    found = pool.run(pool.rules(blocks=10**6, unit=unit), pool.uneven(), apart)
    seen: set[int] = set()
    for request, result in zip(apart, found.results, strict=True):
        full = request.ids[: request.prompt // unit]
        hits = next((n for n, each in enumerate(full) if each not in seen), len(full))
        assert result.cached == min(hits, (request.prompt - 1) // unit) * unit
        seen |= set(full)
