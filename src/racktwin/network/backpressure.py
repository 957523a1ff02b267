"""How congestion at a receiver spreads in a lossless network, and what control leaves of it.

A receiver that is sent more than it takes in fills the queues back to the senders. A link whose
queue is full of such flows passes all flows of that queue at their rate, so flows that only pass by
are slowed too (head-of-line blocking), and block others in turn. Service levels with queues of
their own (performance isolation) block only within a level. Senders under congestion control slow
down within a reaction time of their start, or of the start of the congestion; what passes by then
still loses a part of its share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.network.compiled import compiled
from racktwin.network.problem import Problem, Work
from racktwin.network.tier import NIC_IN, NIC_OUT

CONGESTED = 1.05  # times its capacity that a receiver is offered before queues build up
SAME = 1e-9  # relative difference of rates that count as one
ROUNDS = 30  # blocked links block others so many times at most
FREE, SLOWED, FRESH = 0, 1, 2  # sends to no congestion; slows down to its share; not yet


class Rules(NamedTuple):
    """How the network behaves.

    ranks, levels: how many. controlled: whether senders slow down. reaction: s until they have;
    loss: fraction of its share a passing flow loses then. grain: fraction of the time that the
    quickest flow takes, within which ends and starts count as one.
    """

    ranks: int
    levels: int
    controlled: bool
    reaction: float
    loss: float
    grain: float


@compiled
def spread(problem: Problem, work: Work, count: int, rules: Rules, now: float) -> float:
    """Slow down what congested receivers block at `now` (s); s until a sender's reaction is due."""
    if not _offer(problem, work, count, now):
        return np.inf
    due = _mark(problem, work, count, rules, now)
    if not _back_up(problem, work, count, rules.levels, SLOWED):
        return np.inf
    if rules.controlled:
        for position in range(count):
            one = work.active[position]
            passing = work.slow[one] < work.rate[one]
            work.eased[one] = work.rate[one] * (1 - rules.loss) if passing else work.rate[one]
        if due < np.inf:
            _back_up(problem, work, count, rules.levels, FRESH)
        for position in range(count):
            one = work.active[position]
            most = work.slow[one] if due < np.inf else work.rate[one]
            work.slow[one] = min(most, work.eased[one])
    for position in range(count):
        one = work.active[position]
        work.rate[one] = work.slow[one]
    return due


@compiled
def _offer(problem: Problem, work: Work, count: int, now: float) -> bool:
    """What receivers would be sent if they took it; whether one is congested, and since when."""
    for link in range(len(work.offered)):
        work.offered[link] = 0.0
        work.weight[link] = 0.0
    for position in range(count):
        one = work.active[position]
        for entry in range(problem.head[one], problem.head[one + 1]):
            work.weight[problem.link[entry]] += problem.weight[one] * problem.cost[entry]
    for position in range(count):
        one = work.active[position]
        free = np.inf
        for entry in range(problem.head[one], problem.head[one + 1]):
            link = problem.link[entry]
            if problem.tier[link] != NIC_IN:
                free = min(free, problem.capacity[link] / work.weight[link])
        for entry in range(problem.head[one], problem.head[one + 1]):
            link = problem.link[entry]
            if problem.tier[link] == NIC_IN:
                work.offered[link] += free * problem.weight[one] * problem.cost[entry]
    found = False
    for link in range(len(work.offered)):
        if work.offered[link] > CONGESTED * problem.capacity[link]:
            work.since[link] = min(work.since[link], now)
            found = True
        else:
            work.since[link] = np.inf
    return found


@compiled
def _mark(problem: Problem, work: Work, count: int, rules: Rules, now: float) -> float:
    """Which flows a congested receiver holds back; s until the next of them has slowed down."""
    due = np.inf
    for position in range(count):
        one = work.active[position]
        stuck = work.bound[one]
        work.hot[one] = FREE
        if problem.tier[stuck] == NIC_IN and work.since[stuck] < np.inf:
            slows = max(problem.start[one], work.since[stuck]) + rules.reaction
            work.hot[one] = SLOWED
            if not rules.controlled:
                work.hot[one] = FRESH
            elif slows > now:
                work.hot[one] = FRESH
                due = min(due, slows - now)
    return due


@compiled
def _back_up(problem: Problem, work: Work, count: int, levels: int, least: int) -> bool:
    """Rates behind full queues into `work.slow`; whether a flow is slower than its share."""
    for position in range(count):
        one = work.active[position]
        work.slow[one] = work.rate[one]
        work.stuck[one] = work.bound[one]
    slowed = False
    for _ in range(ROUNDS):
        _press(problem, work, count, levels, least)
        changed = False
        for position in range(count):
            changed |= _block(problem, work, work.active[position], levels)
        slowed |= changed
        if not changed:
            break
    return slowed


@compiled
def _press(problem: Problem, work: Work, count: int, levels: int, least: int) -> None:
    """Lowest rate per weight among the blocked flows on each link, by level."""
    for at in range(len(work.pressure)):
        work.pressure[at] = np.inf
    for position in range(count):
        one = work.active[position]
        blocked = work.slow[one] < work.rate[one] * (1 - SAME)
        if work.hot[one] < least and not blocked:
            continue
        stuck = problem.tier[work.stuck[one]]
        for entry in range(problem.head[one], problem.head[one + 1]):
            link = problem.link[entry]
            if NIC_OUT <= problem.tier[link] < stuck:
                at = link * levels + problem.level[one] % levels
                rate = work.slow[one] / problem.weight[one]
                work.pressure[at] = min(work.pressure[at], rate)


@compiled
def _block(problem: Problem, work: Work, one: int, levels: int) -> bool:
    """Slow a class down to what the queues on its path let pass; whether that changed it."""
    changed = False
    for entry in range(problem.head[one], problem.head[one + 1]):
        link = problem.link[entry]
        most = work.pressure[link * levels + problem.level[one] % levels] * problem.weight[one]
        if most < work.slow[one] * (1 - SAME):
            work.slow[one] = most
            work.stuck[one] = link
            changed = True
    return changed
