"""How congestion at a receiver spreads in a lossless network, and what control leaves of it.

A receiver that is sent more than it takes in fills the queues back to the senders. A link whose
queue is full of such flows passes all flows of that queue at their rate, so flows that only pass by
are slowed too (head-of-line blocking), and block others in turn. Service levels with queues of
their own (performance isolation) block only within a level.
"""

from __future__ import annotations

import numpy as np

from racktwin.network.compiled import compiled
from racktwin.network.problem import Problem, Work
from racktwin.network.tier import NIC_IN, NIC_OUT

CONGESTED = 1.05  # times its capacity that a receiver is offered before queues build up
SAME = 1e-9  # relative difference of rates that count as one
ROUNDS = 30  # blocked links block others so many times at most


@compiled
def spread(problem: Problem, work: Work, count: int, levels: int) -> bool:
    """Rates while queues are full, into `work.slow`; whether any class is slower than its share."""
    found = _offer(problem, work, count)
    for position in range(count):
        one = work.active[position]
        work.slow[one] = work.rate[one]
    if not found:
        return False
    slowed = False
    for _ in range(ROUNDS):
        _press(problem, work, count, levels)
        changed = False
        for position in range(count):
            changed |= _block(problem, work, work.active[position], levels)
        slowed |= changed
        if not changed:
            break
    return slowed


@compiled
def _offer(problem: Problem, work: Work, count: int) -> bool:
    """What receivers would be sent if they took it; whether one is congested."""
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
    for link in range(len(work.offered)):
        if work.offered[link] > CONGESTED * problem.capacity[link]:
            return True
    return False


@compiled
def _press(problem: Problem, work: Work, count: int, levels: int) -> None:
    """Lowest rate per weight among the blocked flows on each link, by level."""
    for at in range(len(work.pressure)):
        work.pressure[at] = np.inf
    for position in range(count):
        one = work.active[position]
        stuck = work.bound[one]
        at_receiver = problem.tier[stuck] == NIC_IN
        congested = work.offered[stuck] > CONGESTED * problem.capacity[stuck]
        blocked = work.slow[one] < work.rate[one] * (1 - SAME)
        if not (at_receiver and congested) and not blocked:
            continue
        per_weight = work.slow[one] / problem.weight[one]
        for entry in range(problem.head[one], problem.head[one + 1]):
            link = problem.link[entry]
            if NIC_OUT <= problem.tier[link] < problem.tier[stuck]:
                at = link * levels + problem.level[one] % levels
                work.pressure[at] = min(work.pressure[at], per_weight)


@compiled
def _block(problem: Problem, work: Work, one: int, levels: int) -> bool:
    """Slow a class down to what the queues on its path let pass; whether that changed it."""
    changed = False
    for entry in range(problem.head[one], problem.head[one + 1]):
        link = problem.link[entry]
        most = work.pressure[link * levels + problem.level[one] % levels] * problem.weight[one]
        if most < work.slow[one] * (1 - SAME):
            work.slow[one] = most
            work.bound[one] = link
            changed = True
    return changed
