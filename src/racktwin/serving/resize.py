"""What autoscaling does at a tick: read the metric of each scope, start replicas or let them go."""

from __future__ import annotations

import numpy as np

from racktwin.serving.blocks import settle
from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Rules, State
from racktwin.serving.flow import HELD, Flow
from racktwin.serving.router import scopes
from racktwin.serving.scaling import KV, PREFILL, wanted
from racktwin.serving.standing import (
    DRAINING,
    OFF,
    OUT,
    STARTING,
    STARTS,
    STOPS,
    TICKS,
    UP,
    Standing,
    become,
    plan_next,
)


@compiled
def metric_of(state: State, rules: Rules, stand: Standing, replica: int) -> float:
    """The metric (any unit) of a replica that is up; of KV its blocks in use, a sum over ranks."""
    found = 0.0
    for stage in range(replica * stand.stages, (replica + 1) * stand.stages):
        if stand.scaling.metric == KV:
            for rank in range(rules.ranks):
                settle(state, rules, stage, rank)
                found += state.ranks[stage, rank].used
        elif stand.scaling.metric == PREFILL:
            found += state.replicas[stage].pending
        else:
            found += state.replicas[stage].outstanding
    return found


@compiled
def counted(stand: Standing, replica: int) -> bool:
    """Whether autoscaling counts on a replica: it is up, comes up, or comes back."""
    state = stand.replicas[replica].state
    if state == DRAINING:
        return stand.replicas[replica].order >= 0
    return state in (UP, STARTING) or (state == OUT and stand.replicas[replica].back < np.inf)


@compiled
def tick(state: State, rules: Rules, stand: Standing, held: float, time: float) -> None:
    """Look at every scope at `time`, s; held: of the metric, with requests no replica has."""
    stand.marks[TICKS] += 1
    parts = scopes(state)
    size = len(stand.replicas) // parts
    for scope in range(parts):
        total, current = 0.0, 0
        for replica in range(scope * size, (scope + 1) * size):
            if stand.replicas[replica].state == UP:
                total += metric_of(state, rules, stand, replica)
            current += counted(stand, replica)
        if stand.scaling.metric == KV:
            total /= rules.ranks * rules.blocks * stand.stages
        else:
            total += held / parts
        found = wanted(stand.scaling, scope, stand.marks[TICKS], total, current)
        if found > current:
            start(state, stand, scope * size, size, found - current, time)
        elif found < current:
            stop(state, stand, scope * size, size, current - found, time)
    plan_next(stand)


@compiled
def start(state: State, stand: Standing, begin: int, size: int, count: int, time: float) -> None:
    """Start up to `count` replicas that are off, the lowest numbers first, at `time`, s."""
    for replica in range(begin, begin + size):
        if count and stand.replicas[replica].state == OFF:
            stand.marks[STARTS] += 1
            become(state, stand, replica, STARTING, time + stand.scaling.start_up, time)
            count -= 1


@compiled
def stop(state: State, stand: Standing, begin: int, size: int, count: int, time: float) -> None:
    """Let up to `count` replicas go at `time`, s: those that start, then those up; highest first.

    What is up finishes what it has.
    """
    for what in (STARTING, UP):
        for replica in range(begin + size - 1, begin - 1, -1):
            if count and stand.replicas[replica].state == what:
                stand.marks[STOPS] += 1
                then = DRAINING if what == UP else OFF
                become(state, stand, replica, then, np.inf, time)
                count -= 1


@compiled
def held_metric(stand: Standing, flow: Flow) -> float:
    """The metric (any unit) of the requests that no replica has; of KV nothing."""
    if stand.scaling.metric == KV:
        return 0.0
    if stand.scaling.metric != PREFILL:
        return float(flow.marks[HELD])
    found = 0
    for place in range(flow.marks[HELD]):
        found += flow.again[flow.held[place]].prompt
    return float(found)
