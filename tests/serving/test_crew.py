"""Replicas that fail, are drained and come and go: the kernel and its oracle, and cases by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool
from tests.serving.test_oracle import LOOSE, engines, in_order, loads

from racktwin.serving import oracle
from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request, Result
from racktwin.serving.oracle_crew import Plan
from racktwin.serving.outages import Outage, Recovery
from racktwin.serving.scaling import Scaling, wanted
from racktwin.serving.standing import DRAINS, FAILURES, POWERED, SERVED, STARTS, STOPS

HORIZON = 60.0 + math.pi / 1e3  # s; nothing ends just then


@st.composite
def outages(draw: st.DrawFn, replicas: int) -> list[Outage]:
    """Failures and drains, one after the other or alone, some for good."""
    found = []
    for _ in range(draw(st.integers(0, 5))):
        drain = draw(st.booleans())
        length = draw(st.sampled_from([0.0, 0.07, 0.4, 2.0] + [math.inf] * (not drain)))
        stride = draw(st.sampled_from([0, 1, 2])) if drain else 0
        found.append(
            Outage(
                time=draw(st.floats(0.0, 3.0)),
                role="serve",
                replica=draw(st.integers(0, replicas - 1)),
                drain=drain,
                length=length,
                stride=stride,
                end=replicas,
                pause=draw(st.sampled_from([0.0, 0.2])),
            )
        )
    return sorted(found, key=lambda each: each.order)


recoveries = st.builds(Recovery, migrate=st.booleans(), detection=st.sampled_from([0.0, 0.05, 1.0]))


@st.composite
def scalings(draw: st.DrawFn, scopes: int, most: int) -> Scaling:
    metric = draw(st.sampled_from([0, 1, 2]))
    return Scaling(
        least=1,
        most=most,
        metric=metric,
        target=draw(st.sampled_from([[1.0, 2.5, 6.0], [0.1, 0.6], [20.0, 77.0]][metric])),
        interval=draw(st.sampled_from([0.05, 0.3, 1.7])),
        tolerance=draw(st.sampled_from([0.0, 0.1, 0.5])),
        growth=draw(st.sampled_from([1.0, 2.0])),
        steps=draw(st.integers(1, 4)),
        start_up=draw(st.sampled_from([0.0, 0.1, 1.0])),
        advice=np.zeros((scopes, draw(st.integers(1, 6))), np.int64),
    )


def agree(asked: Rules, requests: list[Request], seed: int, **rest: Any) -> oracle.Outcome:
    """Run both, and compare them: results, sums, who came and went."""
    clock = pool.uneven(seed)
    found = pool.run(asked, clock, requests, **rest)
    rest.pop("cuts", None)
    rest["concurrency"] = rest.get("concurrency") or None
    expected = oracle.run(asked, clock, requests, **rest)
    assert found.results == expected.results
    for name, value in expected.sums.items():
        assert found.sums[name] == pytest.approx(value, rel=LOOSE.get(name, 1e-9)), name
    crew, marks = expected.crew, found.pool.stand.marks
    counts = [crew.failures, crew.drains, crew.starts, crew.stops]
    assert [marks[mark] for mark in (FAILURES, DRAINS, STARTS, STOPS)] == counts
    names = ("up", "draining", "out", "starting", "off")
    states = [names[state] for state in found.pool.stand.replicas["state"]]
    assert states == [member.status for member in crew.members]
    return expected


@settings(max_examples=150)
@given(
    engine=engines(),
    gaps=loads,
    recovery=recoveries,
    router=st.sampled_from(["round_robin", "least_outstanding", "power_of_two", "least_kv"]),
    shape=st.sampled_from([(3, 1, 1), (4, 2, 1), (4, 1, 2), (8, 2, 2)]),
    data=st.data(),
)
def test_failures_and_drains(
    engine: Rules,
    gaps: list[Request],
    recovery: Recovery,
    router: str,
    shape: tuple[int, int, int],
    data: st.DataObject,
) -> None:
    replicas, stages, scopes = shape
    plan = Plan(data.draw(outages(replicas // stages)), stages=stages)
    rest = {"replicas": replicas, "router": router, "scopes": scopes}
    cuts = data.draw(st.lists(st.floats(0, 5), max_size=2).map(sorted))
    agree(
        *(engine, in_order(gaps), 1),
        **rest,
        plan=plan,
        recovery=recovery,
        until=HORIZON,
        cuts=cuts,
    )


@settings(max_examples=40)
@given(engine=engines(), gaps=loads, recovery=recoveries, data=st.data())
def test_prefixes_sessions_and_closed_loops(
    engine: Rules, gaps: list[Request], recovery: Recovery, data: st.DataObject
) -> None:
    """Caches of replicas that fail begin cold; turns wait for answers that begin again."""
    weight = data.draw(st.sampled_from([1, 2]))
    engine = engine._replace(
        unit=weight * engine.block,
        host=data.draw(st.sampled_from([0, 3, 40])),
        shared=data.draw(st.sampled_from([0, 0, 30])),
        evict=data.draw(st.booleans()),
        host_pace=0.003,
        shared_pace=0.02,
    )
    engine = engine._replace(evict=engine.evict and engine.host > 0)
    requests, concurrency = in_order(gaps), data.draw(st.sampled_from([0, 0, 5]))
    for number, request in enumerate(requests):
        trunk = data.draw(st.integers(0, 2))
        ids = tuple(range(1000 * trunk, 1000 * trunk + request.prompt // engine.unit + 1))
        after = data.draw(st.integers(-1, number - 1)) if number and not concurrency else -1
        arrival = 0.0 if concurrency else request.arrival
        requests[number] = request._replace(ids=ids, after=after, arrival=arrival)
    agree(
        *(engine, requests, 2),
        replicas=3,
        router=data.draw(st.sampled_from(["round_robin", "prefix_aware", "kv_aware"])),
        concurrency=concurrency,
        plan=Plan(data.draw(outages(3))),
        recovery=recovery,
        until=HORIZON,
    )


@settings(max_examples=100)
@given(engine=engines(), gaps=loads, recovery=recoveries, data=st.data())
def test_autoscaling(
    engine: Rules, gaps: list[Request], recovery: Recovery, data: st.DataObject
) -> None:
    scopes, stages = data.draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    most = 3
    plan = Plan(
        data.draw(outages(most * scopes)),
        stages=stages,
        parts=scopes,
        first=data.draw(st.integers(1, most)),
        scaling=data.draw(scalings(scopes, most)),
    )
    found = agree(
        *(engine, in_order(gaps), 3),
        replicas=most * scopes * stages,
        router=data.draw(st.sampled_from(["least_outstanding", "round_robin"])),
        scopes=scopes,
        plan=plan,
        recovery=recovery,
        until=HORIZON,
        cuts=data.draw(st.lists(st.floats(0, 5), max_size=2).map(sorted)),
    )
    for part in found.crew.parts:
        assert sum(member.status != "off" for member in part) <= most


def once(time: float, replica: int, **rest: Any) -> Outage:
    return Outage(time=time, role="serve", replica=replica, **rest)


def both(requests: list[Request], plan: Plan, recovery: Recovery, **rest: Any) -> pool.Run:
    """What kernel and oracle make of steps of 1 s alike."""
    given = {"replicas": 2, "plan": plan, "recovery": recovery, "until": HORIZON, **rest}
    found = pool.run(pool.rules(), pool.constant(), requests, **given)
    assert found.results == oracle.run(pool.rules(), pool.constant(), requests, **given).results
    return found


@pytest.mark.parametrize(("migrate", "finish"), [(False, 7.5), (True, 5.5)])
def test_a_failure_by_hand(migrate: bool, finish: float) -> None:
    """Tokens at 1 and 2; the step under way at 2.5 is lost, and known 1 s later.

    The other replica computes the prompt again, or the prompt and two tokens, and what remains.
    """
    plan = Plan([once(2.5, 0)])
    found = both([Request(0.0, 4, 4)], plan, Recovery(migrate=migrate, detection=1.0))
    (result,) = found.results
    assert result == Result(0, 0.0, 0.0, 1.0, finish, 0, second=2.0, replica=1, read=1.0)
    again = finish - 3.5
    assert found.sums["busy_seconds"] == 2.5 + again
    assert found.sums["joules"] == (2.5 + again) * pool.WATTS
    assert found.sums["steps"] == 2 + again
    assert (found.sums["lost_steps"], found.sums["interrupted"]) == (1, 1)
    assert found.sums["lost_tokens"] == 4 + 1  # of the second token nothing is cached
    assert found.sums["prefill_tokens"] == 4 + (6 if migrate else 4)
    assert found.pool.stand.times[SERVED] + found.pool.stand.times[POWERED] == 2 * 2.5


def test_a_drain_by_hand() -> None:
    """A request of 4 steps ends; until 4 + 2 all others go to the other replica.

    The fourth comes in the middle of a step there, the fifth finds the first replica back.
    """
    plan = Plan([once(0.5, 0, drain=True, length=2.0)])
    requests = [Request(time, 2, 4) for time in (0.0, 1.0, 2.0, 5.5, 6.5)]
    found = both(requests, plan, Recovery(), router="least_outstanding")
    assert [each.finish for each in found.results] == [4.0, 5.0, 6.0, 10.0, 10.5]
    seats = found.pool.stand.replicas["since"]
    assert seats.tolist() == [6.0, 0.0]
    assert not found.sums["interrupted"]


def test_rolling_through_a_pool_by_hand() -> None:
    """Both are idle: out from 1 to 3, a pause of 1 s, and the next from 4 to 6."""
    plan = Plan([once(1.0, 0, drain=True, length=2.0, stride=1, end=2, pause=1.0)])
    requests = [Request(time, 2, 1) for time in (1.5, 3.5, 4.5, 6.5)]
    found = both(requests, plan, Recovery(), router="least_outstanding")
    assert found.pool.stand.marks[DRAINS] == 2
    assert found.pool.stand.replicas["since"].tolist() == [3.0, 6.0]
    assert found.pool.stand.times[SERVED] == pytest.approx(1.0 + 4.0)  # until each was drained


def test_requests_wait_where_no_replica_is_left() -> None:
    """Both are out at 1; one is back at 5. What came meanwhile is served in order then."""
    plan = Plan([once(1.0, 0, length=4.0), once(1.0, 1)])
    requests = [Request(0.5, 2, 2), Request(2.0, 2, 1), Request(3.0, 2, 1)]
    found = both(requests, plan, Recovery(detection=0.25))
    assert [each.finish for each in found.results] == [7.0, 6.0, 6.0]
    assert [each.admitted for each in found.results] == [0.5, 5.0, 5.0]
    never = both(requests, Plan([once(1.0, 0), once(1.0, 1)]), Recovery())
    assert not never.results
    assert never.sums["interrupted"] == 1


def test_caches_begin_cold() -> None:
    """The second turn of a prefix is found, the third, after a failure of the replica, is not."""
    ids = tuple(range(4))
    requests = [Request(time, 16, 2, ids=ids) for time in (0.0, 5.0, 10.0, 15.0)]
    given = {"plan": Plan([once(8.0, 0, length=1.0)]), "recovery": Recovery(), "until": HORIZON}
    engine = pool.rules(unit=4)
    found = pool.run(engine, pool.constant(), requests, **given)
    assert [each.cached for each in found.results] == [0, 12, 0, 12]
    assert found.results == oracle.run(engine, pool.constant(), requests, **given).results


@settings(max_examples=15)
@given(gaps=loads, plan=outages(3), detection=st.sampled_from([0.0, 0.3]))
def test_tokens_add_up(gaps: list[Request], plan: list[Outage], detection: float) -> None:
    """Begun anew, every prompt token is computed once and as often again as it was lost."""
    plan = [each if each.length < math.inf else once(each.time, 0, length=1.0) for each in plan]
    plan.sort(key=lambda each: each.order)
    given = {"plan": Plan(plan), "recovery": Recovery(detection=detection), "until": HORIZON}
    found = pool.run(pool.rules(), pool.uneven(), in_order(gaps), 3, **given)
    assert len(found.results) == len(gaps)
    prompts, answers = sum(each.prompt for each in gaps), sum(each.output - 1 for each in gaps)
    computed = found.sums["prefill_tokens"] + found.sums["decode_tokens"]
    assert computed == prompts + answers + found.sums["lost_tokens"]
    assert not found.pool.state.ranks["used"].any()
    assert found.pool.state.counts[0] == len(found.pool.state.slots)


def test_the_outages_are_hard_enough() -> None:
    """Requests in all stages are lost where replicas fail as above."""
    gaps = [Request(0.01, 30 + n % 17, 20 + n % 13, n % 3) for n in range(60)]
    plan = Plan([once(0.3 * n, n % 3, length=0.5) for n in range(9)])
    given = {"replicas": 3, "plan": plan, "until": HORIZON}
    engine = pool.rules(blocks=30, ranks=2)
    found = agree(engine, in_order(gaps), 0, recovery=Recovery(migrate=True), **given)
    assert found.sums["interrupted"] > 50
    assert found.sums["lost_steps"] > 5
    assert sum(each.losses for each in found.results) > 10


def scale(**changes: Any) -> Scaling:
    """Kubernetes' defaults, one tick of memory."""
    usual = Scaling(1, 99, 0, 1.0, 15.0, 0.1, 2.0, 4, 0.0, np.zeros((1, 1), np.int64))
    return usual._replace(**changes)


@pytest.mark.parametrize(
    ("current", "total", "target", "found"),
    [
        (50, 50 * 90, 75, 60),  # the example of Kubernetes' blog on tolerance
        (50, 50 * 82, 75, 50),  # 9.3 % above the target
        (50, 50 * 68, 75, 50),  # 9.3 % below
        (50, 50 * 60, 75, 40),
        (2, 100, 10, 6),  # 10 are needed, 4 more come at once
        (20, 1000, 10, 40),  # 100 are needed, twice as many come at once
        (3, 0, 10, 1),
        (0, 0, 10, 1),
        (60, 10_000, 10, 99),
    ],
)
def test_the_formula(current: int, total: float, target: float, found: int) -> None:
    asked = scale(target=float(target))
    assert wanted(asked, 0, 1, float(total), current) == found


def test_the_stabilisation_keeps_the_largest_advice() -> None:
    """8 are needed, of which 6 come at once; then fewer, but for three ticks 8 were the advice."""
    asked = scale(advice=np.zeros((1, 3), np.int64), tolerance=0.0)
    counts, current = [], 2
    for tick, total in enumerate([8, 3, 2, 2, 2], 1):
        current = wanted(asked, 0, tick, float(total), current)
        counts.append(current)
    assert counts == [6, 6, 6, 3, 2]


def test_autoscaling_by_hand() -> None:
    """One of two replicas is up; each is to have 2 requests; looks every second, starts take 1.5 s.

    At 1 there are 4, so the second starts, and is up at 2.5: the fifth request goes there. At 4
    that is the only one, and the second replica takes no more; when it has ended, it is off.
    """
    asked = scale(most=2, target=2.0, interval=1.0, start_up=1.5)
    plan = Plan(first=1, scaling=asked)
    requests = [*(Request(0.25 * n, 2, 3) for n in range(4)), Request(3.25, 2, 1)]
    found = both(requests, plan, Recovery(), router="least_outstanding", until=9.5)
    assert [each.finish for each in found.results] == [3.0, 4.0, 4.0, 4.0, 4.25]
    stand = found.pool.stand
    assert (stand.marks[STARTS], stand.marks[STOPS]) == (1, 1)
    assert stand.replicas["since"].tolist() == [0.0, 4.25]
    assert stand.times[POWERED] == 4.25 - 1.0
    assert stand.times[SERVED] == 4.0 - 2.5
