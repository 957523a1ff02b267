"""Replicas of separate pools come and go: kernel and oracle agree, and cases by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool
from tests.serving.test_crew import HORIZON, outages, recoveries, scalings
from tests.serving.test_oracle import LOOSE, engines, loads
from tests.serving.test_oracle_pair import apart

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request, Result
from racktwin.serving.oracle_crew import Plan
from racktwin.serving.oracle_pair import Pool, run
from racktwin.serving.outages import Outage, Recovery


@st.composite
def plans(draw: st.DrawFn, scopes: int) -> tuple[int, Plan]:
    """Stages in all, and what happens to a pool."""
    count, stages = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2]))
    plan = Plan(draw(outages(count * scopes)), stages=stages, parts=scopes)
    if draw(st.booleans()):
        first = draw(st.integers(1, count))
        plan = plan._replace(first=first, scaling=draw(scalings(scopes, count)))
    return count * stages * scopes, plan


@settings(max_examples=150)
@given(
    first=engines(),
    second=engines(),
    gaps=loads,
    router=st.sampled_from(["round_robin", "least_outstanding"]),
    pace=st.sampled_from([1e-5, 1.3e-3, 0.021]),
    cuts=st.lists(st.floats(0, 3), max_size=2).map(sorted),
    recovery=recoveries,
    data=st.data(),
)
def test_kernel_and_oracle_agree(
    first: Rules,
    second: Rules,
    gaps: list[Request],
    router: str,
    pace: float,
    cuts: list[float],
    recovery: Recovery,
    data: st.DataObject,
) -> None:
    scopes, requests = data.draw(st.integers(1, 2)), apart(gaps)
    if data.draw(st.booleans()):
        tiers = {"host": data.draw(st.sampled_from([0, 5])), "host_pace": 0.003}
        first = first._replace(unit=first.block, **tiers)
        first = first._replace(evict=first.host > 0 and data.draw(st.booleans()))
        for number, request in enumerate(requests):
            trunk = 1000 * data.draw(st.integers(0, 1))
            requests[number] = request._replace(ids=tuple(range(trunk, trunk + request.prompt + 1)))
    (many, plan), (more, other) = data.draw(plans(scopes)), data.draw(plans(scopes))
    prefill = Pool(first, pool.uneven(1), many, router, plan)
    decode = Pool(second, pool.uneven(2), more, "least_outstanding", other)
    rest = {"scopes": scopes, "recovery": recovery, "until": HORIZON}
    expected = run(prefill, decode, requests, 0.0017, pace, **rest)
    found, pools = pool.run_pair(prefill, decode, requests, (0.0017, pace), cuts=cuts, **rest)
    assert found == sorted(expected.found)
    sides = zip(pools.values(), (expected.pair.prefill, expected.pair.decode), strict=True)
    for each, replicas in sides:
        sums = dict(zip(pool.SUMS, each.state.sums, strict=True))
        for name in ("interrupted", "lost_steps", "lost_tokens", "steps", "prefill_tokens"):
            assert sums[name] == sum(replica.sums[name] for replica in replicas), name
        filled = sum(replica.sums["block_seconds"] for replica in replicas)
        assert sums["block_seconds"] == pytest.approx(filled, rel=LOOSE["block_seconds"])
        assert filled >= 0
    if len(found) == len(requests):
        for each in pools.values():
            assert not each.state.ranks["used"].any()
            assert not each.state.replicas["outstanding"].any()
            assert each.state.counts[0] == len(each.state.slots)


def pools(**plans: Plan) -> tuple[Pool, Pool]:
    """Two replicas each, steps of 1 s."""
    made = (pool.rules(), pool.constant(), 2)
    return (
        Pool(*made, "round_robin", plans.get("prefill", Plan())),
        Pool(*made, "least_outstanding", plans.get("decode", Plan())),
    )


def served(requests: list[Request], recovery: Recovery, **plans: Plan) -> list[Result]:
    """What kernel and oracle make of transfers of 1 s alike."""
    sides, rest = pools(**plans), {"recovery": recovery, "until": HORIZON}
    found, _ = pool.run_pair(*sides, requests, (1.0, 0.0), **rest)
    assert found == sorted(run(*sides, requests, 1.0, 0.0, **rest).found)
    return found


@pytest.mark.parametrize("migrate", [False, True])
def test_a_prefill_replica_fails_by_hand(migrate: bool) -> None:
    """The prompt is done at 1, its cache on its way until 2; it is lost at 1.5, known at 3.5.

    No token was told. Prefilled until 4.5, there at 5.5, which tells the first.
    """
    plan = Plan([Outage(time=1.5, role="prefill", replica=0)])
    recovery = Recovery(migrate=migrate, detection=2.0)
    (found,) = served([Request(0.0, 4, 4)], recovery, prefill=plan)
    assert (found.first, found.second, found.finish) == (5.5, 6.5, 8.5)


def test_a_decode_replica_fails_by_hand() -> None:
    """Cache at 2, tokens at 3 and 4, lost at 4.5 and known at once; prefilled with 3 tokens at 5.5,
    the fourth; there at 6.5, the fifth at 7.5."""
    plan = Plan([Outage(time=4.5, role="decode", replica=0)])
    (found,) = served([Request(0.0, 4, 5)], Recovery(migrate=True), decode=plan)
    assert (found.first, found.second, found.finish) == (2.0, 3.0, 7.5)


@pytest.mark.parametrize(("migrate", "second", "finish"), [(False, 5.5, 7.5), (True, 4.5, 6.5)])
def test_one_token_was_told_before_a_decode_replica_fails(
    migrate: bool, second: float, finish: float
) -> None:
    """Cache at 2, lost at 2.5; read by 3.5, there at 4.5 with the first again, or the second."""
    plan = Plan([Outage(time=2.5, role="decode", replica=0)])
    (found,) = served([Request(0.0, 4, 4)], Recovery(migrate=migrate), decode=plan)
    assert (found.first, found.second, found.finish) == (2.0, second, finish)


def test_caches_wait_for_a_decode_replica() -> None:
    """None from 0.5 to 5: the cache that is done at 1 waits, the request at 2 is held back.

    There at 6; the second prompt is computed from 5 to 6 and its cache there at 7.
    """
    plan = Plan([Outage(time=0.5, role="decode", replica=each, length=4.5) for each in (0, 1)])
    requests = [Request(0.0, 4, 2), Request(2.0, 4, 2)]
    found = served(requests, Recovery(), decode=plan)
    assert [each.admitted for each in found] == [0.0, 5.0]
    assert [each.finish for each in found] == [7.0, 8.0]


def test_a_prefill_replica_is_drained_of_its_caches() -> None:
    """Drained at 0.5, it has its prompt until 1 and the cache until 2: out then, and back at 3."""
    plan = Plan([Outage(time=0.5, role="prefill", replica=0, drain=True, length=1.0)])
    sides = pools(prefill=plan)
    _, made = pool.run_pair(*sides, [Request(0.0, 4, 3)], (1.0, 0.0), until=HORIZON)
    assert made["prefill"].stand.replicas["since"].tolist() == [3.0, 0.0]
