"""Router scope: what a router sees, by hand, against the oracle and in whole deployments."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.serving import pool
from tests.serving.test_oracle import agree, engines, in_order, loads
from tests.serving.test_simulation import poisson, served

from racktwin.serving import oracle_pair
from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace, cut


@cache
def copies() -> Served:
    """Two copies of two replicas."""
    made = copy(served())
    two = msgspec.structs.replace(made.deployment.pools["serve"], replicas=2)
    made.deployment = msgspec.structs.replace(made.deployment, serve=two, copies=2)
    return made


def finishes(trace: Trace, router: str, scope: str) -> NDArray[np.float64]:
    """When each request ends, s."""
    parts: list[dict[str, Any]] = []
    order = Order(router=router, scope=scope, rows=parts.append)
    assert simulate(copies(), cut([trace], 700), order).finished == len(trace)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return np.asarray(joined["finish"][np.argsort(joined["request"])])


def test_requests_are_dealt_to_copies_and_routed_inside_by_hand() -> None:
    """Two copies of two replicas, steps of 1 s, one place each: a long request, then short ones.

    The last comes when one replica is idle, that of the second request. A router over all sends it
    there; dealt in turn it belongs to the first copy and waits behind the long one.
    """
    times = (0.0, 0.1, 0.2, 0.3, 3.15)
    requests = [Request(time, 1, 3 if time else 9) for time in times]
    for scopes, admitted in ((1, 3.15), (2, 9.0)):
        asked = (pool.rules(max_batch=1), pool.constant(), requests)
        found = pool.run(*asked, 4, "least_outstanding", scopes=scopes).results
        assert [each.admitted for each in found] == [*times[:4], admitted]


@settings(max_examples=20)
@given(engine=engines(), gaps=loads, data=st.data())
def test_round_robin_with_turns(engine: Rules, gaps: list[Request], data: st.DataObject) -> None:
    requests = in_order(gaps)
    for number in range(1, len(requests)):
        after = data.draw(st.integers(-1, number - 1))
        requests[number] = requests[number]._replace(after=after, pause=0.05)
    agree(engine, requests, 2, replicas=6, scopes=data.draw(st.sampled_from([1, 2, 3])))


def test_a_copy_keeps_its_caches() -> None:
    """The decode replica of the first copy is full; its second cache waits, the other copy is idle.

    Steps of 1 s, transfers of 1 s: prompts end at 1, requests 0 and 2 are the first copy's.
    """
    first = oracle_pair.Pool(pool.rules(), pool.constant(), 2, "round_robin")
    second = oracle_pair.Pool(pool.rules(max_batch=1), pool.constant(), 2, "least_outstanding")
    requests = [Request(0.0, 8, 4), Request(0.0, 8, 1), Request(0.0, 8, 4)]
    ends = {}
    for scopes in (1, 2):
        found, _ = pool.run_pair(first, second, requests, (1.0, 0.0), scopes=scopes)
        expected = oracle_pair.simulate(first, second, requests, 1.0, 0.0, scopes=scopes)
        assert found == expected
        ends[scopes] = [each.finish for each in found]
    assert ends == {1: [5.0, 1.0, 6.0], 2: [5.0, 1.0, 9.0]}


def test_round_robin_is_the_same_in_either_scope() -> None:
    trace = poisson(2000, 40.0)
    whole = finishes(trace, "round_robin", "deployment")
    assert (whole == finishes(trace, "round_robin", "copy")).all()


def test_a_router_that_sees_less_serves_less_well() -> None:
    trace = poisson(4000, 50.0)
    whole = finishes(trace, "least_outstanding", "deployment")
    assert whole.mean() < finishes(trace, "least_outstanding", "copy").mean()
