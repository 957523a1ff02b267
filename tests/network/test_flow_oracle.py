"""The compiled flow simulation equals the plain-Python one; both equal hand-computed cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin.network.advance import advance
from racktwin.network.backpressure import Rules
from racktwin.network.filling import fill
from racktwin.network.flow_oracle import Flow, fair_rates, finish_times
from racktwin.network.problem import ACTIVE, Problem, Work, log, workspace
from racktwin.network.tier import TIERS
from racktwin.network.transpose import transposed

CALM = Rules(ranks=1, levels=1, controlled=True, reaction=0.0, loss=0.0, grain=0.0)


def problem_of(flows: list[Flow], capacity: dict[int, float], tier: int = 0) -> Problem:
    links = {link: i for i, link in enumerate(sorted(capacity))}
    head = np.cumsum([0, *(len(flow.path) for flow in flows)]).astype(np.int64)
    link = np.array([links[each] for flow in flows for each in flow.path], np.int64)
    cost = np.array([each for flow in flows for each in flow.path.values()])
    back_head, back = transposed(head, link, len(links))
    room = np.array([capacity[each] for each in sorted(capacity)])
    ranks = sorted({flow.priority for flow in flows}, reverse=True)
    start = np.array([flow.start for flow in flows])
    return Problem(
        head, link, cost, cost, back_head, back,
        np.array([flow.weight for flow in flows]),
        np.array([ranks.index(flow.priority) for flow in flows], np.int64),
        np.zeros(len(flows), np.int64),
        np.array([flow.size for flow in flows]), start, room, room,
        np.full(len(links), tier, np.int64), np.argsort(start, kind="stable").astype(np.int64),
    )  # fmt: skip


def rates(flows: list[Flow], capacity: dict[int, float]) -> np.ndarray[Any, Any]:
    problem = problem_of(flows, capacity)
    work = workspace(problem, 1)
    work.active[:] = np.arange(len(flows))
    work.state[:] = ACTIVE
    fill(problem, work, len(flows), len({flow.priority for flow in flows}))
    return work.rate


def finished(flows: list[Flow], capacity: dict[int, float]) -> tuple[Work, float]:
    problem = problem_of(flows, capacity)
    work = workspace(problem, 1)
    rules = CALM._replace(ranks=len({flow.priority for flow in flows}))
    _, _, fullest = advance(problem, work, rules, log(len(TIERS)))
    return work, fullest


def test_the_textbook_case() -> None:
    """Three links in a row, one flow over all and one on each: 1/2 where the link is 1, 1 - 1/2."""
    capacity = {0: 1.0, 1: 2.0, 2: 4.0}
    flows = [Flow({0: 1, 1: 1, 2: 1}, 1.0), *(Flow({link: 1}, 1.0) for link in capacity)]
    expected = [0.5, 0.5, 1.5, 3.5]
    assert fair_rates(flows, capacity) == pytest.approx(expected)
    assert rates(flows, capacity) == pytest.approx(expected)


def test_weights_and_priorities() -> None:
    """Weights 1 and 3 share 4 as 1 and 3; a higher priority takes all it can first."""
    two = [Flow({0: 1}, 1.0), Flow({0: 1}, 1.0, weight=3.0)]
    assert rates(two, {0: 4.0}) == pytest.approx([1.0, 3.0])
    first = [*two, Flow({0: 1, 1: 1}, 1.0, priority=1)]
    assert rates(first, {0: 4.0, 1: 2.0}) == pytest.approx([0.5, 1.5, 2.0])


def test_an_end_hands_bandwidth_on() -> None:
    """10 and 30 B at 5 + 5 B/s, then 10 B/s: 2 s; 30 - 10 = 20 B more take 2 s. A third waits."""
    flows = [Flow({0: 1}, 10.0), Flow({0: 1}, 30.0), Flow({0: 1}, 5.0, start=100.0)]
    expected = [2.0, 4.0, 100.5]
    assert finish_times(flows, {0: 10.0}) == pytest.approx(expected)
    assert finished(flows, {0: 10.0})[0].finish == pytest.approx(expected)


LINKS = st.dictionaries(st.integers(0, 7), st.floats(0.5, 20.0), min_size=1, max_size=8)


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[Flow], dict[int, float]]:
    capacity = draw(LINKS)
    path = st.dictionaries(st.sampled_from(sorted(capacity)), st.sampled_from([0.5, 1.0, 3.0]),
                           min_size=1, max_size=4)  # fmt: skip
    flow = st.builds(Flow, path, st.floats(0.1, 50.0), st.sampled_from([0.0, 0.5, 7.0]),
                     st.integers(0, 2), st.sampled_from([1.0, 2.5]))  # fmt: skip
    return draw(st.lists(flow, min_size=1, max_size=12)), capacity


@given(networks())
@settings(max_examples=80, deadline=None)
def test_rates_are_those_of_the_oracle(network: tuple[list[Flow], dict[int, float]]) -> None:
    flows, capacity = network
    found, expected = rates(flows, capacity), fair_rates(flows, capacity)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    for link, room in capacity.items():
        load = sum(rate * f.path.get(link, 0.0) for rate, f in zip(found, flows, strict=True))
        assert load <= room * (1 + 1e-9)


@given(networks())
@settings(max_examples=80, deadline=None)
def test_ends_are_those_of_the_oracle(network: tuple[list[Flow], dict[int, float]]) -> None:
    flows, capacity = network
    work, fullest = finished(flows, capacity)
    assert work.finish == pytest.approx(finish_times(flows, capacity), rel=1e-6)
    assert fullest <= 1 + 1e-9
    for index, link in enumerate(sorted(capacity)):
        asked = sum(flow.size * flow.path.get(link, 0.0) for flow in flows)
        assert work.carried[index] == pytest.approx(asked, rel=1e-9)
