"""Congestion at a receiver: who is slowed down, by how much, for how long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin.network.advance import advance
from racktwin.network.backpressure import Rules
from racktwin.network.problem import Floats, Problem, log, workspace
from racktwin.network.tier import LEAF_UP, NIC_IN, NIC_OUT, TIERS
from racktwin.network.transpose import transposed

CAPACITY = 8.0
REACTION, LOSS = 0.5, 0.1


class Flow(NamedTuple):
    """From one NIC to another, over a leaf's uplinks or not."""

    out: int
    into: int
    leaf: int | None = None
    level: int = 0
    size: float = 1.0
    start: float = 0.0


def finish(flows: list[Flow], rules: Rules) -> Floats:
    """Links: NICs out, NICs in, leaves of twice a NIC's rate."""
    names = sorted(
        {("out", f.out) for f in flows} | {("in", f.into) for f in flows}
        | {("leaf", f.leaf) for f in flows if f.leaf is not None}
    )  # fmt: skip
    number = {name: at for at, name in enumerate(names)}
    paths = [
        [number["out", f.out], *([number["leaf", f.leaf]] if f.leaf is not None else []),
         number["in", f.into]]
        for f in flows
    ]  # fmt: skip
    head = np.cumsum([0, *map(len, paths)]).astype(np.int64)
    link = np.array([each for path in paths for each in path], np.int64)
    back_head, back = transposed(head, link, len(names))
    tiers = {"out": NIC_OUT, "leaf": LEAF_UP, "in": NIC_IN}
    room = np.array([CAPACITY * (2 if kind == "leaf" else 1) for kind, _ in names])
    start = np.array([f.start for f in flows])
    ones = np.ones(len(link))
    problem = Problem(
        head, link, ones, ones, back_head, back, np.ones(len(flows)),
        np.zeros(len(flows), np.int64), np.array([f.level for f in flows], np.int64),
        np.array([f.size for f in flows]), start, room, room,
        np.array([tiers[kind] for kind, _ in names], np.int64),
        np.argsort(start, kind="stable").astype(np.int64),
    )  # fmt: skip
    work = workspace(problem, rules.levels)
    _, _, fullest = advance(problem, work, rules, log(len(TIERS)))
    assert fullest <= 1 + 1e-9
    assert work.left == pytest.approx(0)
    return work.finish


def rules(controlled: bool, levels: int = 1) -> Rules:
    return Rules(1, levels, controlled, REACTION, LOSS, 0.0)


INCAST = [Flow(sender, 100, size=40.0) for sender in range(8)]  # 1 B/s each
VICTIM = Flow(0, 101, size=7.0)  # its NIC has 7 B/s left beside the incast


def test_without_control_a_victim_gets_what_its_neighbour_in_the_queue_gets() -> None:
    assert finish([*INCAST, VICTIM], rules(controlled=False))[-1] == pytest.approx(7.0)


def test_with_control_it_is_blocked_until_senders_react_and_then_loses_a_tenth() -> None:
    after = (7.0 - REACTION * 1.0) / (7.0 * (1 - LOSS))
    found = finish([*INCAST, VICTIM], rules(controlled=True))
    assert found[-1] == pytest.approx(REACTION + after)
    assert found[:-1] == pytest.approx(40.0)


@pytest.mark.parametrize("controlled", [True, False])
def test_a_service_level_of_its_own_is_not_blocked(controlled: bool) -> None:
    victim = VICTIM._replace(level=1)
    assert finish([*INCAST, victim], rules(controlled, levels=2))[-1] == pytest.approx(1.0)
    assert finish([*INCAST, victim], rules(controlled))[-1] > 1.2  # one queue for both


def test_congestion_spreads_from_queue_to_queue() -> None:
    """A sender of the incast shares an uplink with another NIC, which then blocks its own flows."""
    incast = [Flow(0, 100, leaf=0, size=40.0), *INCAST[1:]]
    passing = Flow(1000, 101, leaf=0, size=7.0)
    behind = Flow(1000, 102, size=7.0)
    found = finish([*incast, passing, behind], rules(controlled=False))
    assert found[-2:] == pytest.approx([7.0, 7.0])


def test_balanced_traffic_is_no_congestion() -> None:
    ring = [Flow(sender, 100 + (sender + 1) % 8) for sender in range(8)]
    assert finish(ring, rules(controlled=False)) == pytest.approx(1 / CAPACITY)


def test_the_reaction_is_counted_from_a_flow_s_own_start() -> None:
    """A sender that joins a congestion under control blocks others for its own reaction time."""
    late = Flow(9, 100, size=100.0, start=2.0)
    victim = Flow(9, 101, size=7.0, start=2.0)
    found = finish([*(f._replace(size=1000.0) for f in INCAST), late, victim], rules(True))
    rate = 8 / 9
    after = (7.0 - REACTION * rate) / ((8 - rate) * (1 - LOSS))
    assert found[-1] - 2.0 == pytest.approx(REACTION + after)


@st.composite
def traffic(draw: st.DrawFn) -> list[Flow]:
    flow = st.builds(Flow, st.integers(0, 5), st.integers(100, 104),
                     st.none() | st.integers(0, 1), st.integers(0, 1), st.floats(0.5, 20.0),
                     st.sampled_from([0.0, 0.3]))  # fmt: skip
    return draw(st.lists(flow, min_size=1, max_size=14))


@given(traffic())
@settings(max_examples=100, deadline=None)
def test_all_bytes_arrive_and_links_never_overflow(flows: list[Flow]) -> None:
    for controlled in (False, True):
        for levels in (1, 2):
            assert np.isfinite(finish(flows, rules(controlled, levels))).all()
