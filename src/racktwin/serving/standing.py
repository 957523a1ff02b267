"""Which replicas of a pool take requests, and when that changes: a state and a calendar.

A replica is up; or it is drained, takes no more requests and finishes what it has; or it is out,
failed or starting again; or it is starting for the first time; or it is off. A pipeline's stages,
replicas of their own to the kernel, stand and fall together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import EACH, OPEN, SCOPES, Floats, Ints, State, record
from racktwin.serving.scaling import Scaling, no_scaling, tick_after

UP, DRAINING, OUT, STARTING, OFF = range(5)
# since: s of the last change; back: s at which it takes requests again, inf: never or not known;
# due: s at which it is to be drained, inf: it is not; states as above; order: by which it is being
# drained, -1: to go off; next_order: by which it is to be.
STANDING = record(floats="since back due", ints="state order next_order")
# What is to happen to a replica: it fails for `length` s, or is drained by an order (-1: it fails).
CALL = record(floats="time length", ints="replica order")
# How replicas are drained: `length` s out when it is empty; `pause` s after it is back the one
# `stride` further on follows, below `end`; stride 0: none does.
ORDER = record(floats="length pause", ints="stride end")


class Standing(NamedTuple):
    """A pool's replicas and what is to happen to them.

    replicas: one record each. calls, orders: see above. marks: see `CALLS`; times: see `NOW`, s.
    stages: the kernel's replicas that one of these is made of. scaling: how many there are to be.
    """

    replicas: NDArray[Any]
    calls: NDArray[Any]
    orders: NDArray[Any]
    marks: Ints
    times: Floats
    scaling: Scaling
    stages: int


# Calls done; replicas that drain; failures, drains, starts and stops by autoscaling so far; ticks.
CALLS, DRAINED, FAILURES, DRAINS, STARTS, STOPS, TICKS = range(7)
# The next change; seconds that replicas took requests, and that they took power, up to `since`.
NEXT, SERVED, POWERED = range(3)
# What a change came to: nothing that others need to know, a replica takes requests, one failed.
NOTHING, OPENED, FAILED = range(3)


def standing(
    replicas: int, stages: int = 1, scaling: Scaling | None = None, orders: int = 0
) -> Standing:
    """All replicas are up, for good."""
    made = np.zeros(replicas, STANDING)
    made["back"] = made["due"] = np.inf
    made["order"] = made["next_order"] = -1
    return Standing(
        replicas=made,
        calls=np.zeros(0, CALL),
        orders=np.zeros(orders, ORDER),
        marks=np.zeros(7, np.int64),
        times=np.array([np.inf, 0.0, 0.0]),
        scaling=scaling or no_scaling(),
        stages=stages,
    )


@compiled
def plan_next(stand: Standing) -> None:
    """Note when the next change is."""
    soonest = tick_after(stand.scaling, stand.marks[TICKS])
    if stand.marks[CALLS] < len(stand.calls):
        soonest = min(soonest, stand.calls[stand.marks[CALLS]].time)
    for replica in range(len(stand.replicas)):
        soonest = min(soonest, stand.replicas[replica].due)
        if stand.replicas[replica].state in (OUT, STARTING):
            soonest = min(soonest, stand.replicas[replica].back)
    stand.times[NEXT] = soonest


@compiled
def powered(stand: Standing, replica: int) -> bool:
    """Whether a replica takes power: not when it is off or out for good."""
    state = stand.replicas[replica].state
    return state != OFF and not (state == OUT and stand.replicas[replica].back == np.inf)


@compiled
def become(
    state: State, stand: Standing, replica: int, what: int, back: float, time: float
) -> None:
    """From `time` (s) on a replica is `what`; back: s at which it takes requests again."""
    passed = time - stand.replicas[replica].since
    before = stand.replicas[replica].state
    stand.times[POWERED] += passed if powered(stand, replica) else 0.0
    stand.times[SERVED] += passed if before == UP else 0.0
    stand.marks[DRAINED] += int(what == DRAINING) - int(before == DRAINING)
    stand.replicas[replica].state, stand.replicas[replica].since = what, time
    stand.replicas[replica].back = back
    scopes = (len(state.counts) - SCOPES) // EACH
    scope = replica * scopes // len(stand.replicas)
    opened = int(what == UP) - int(before == UP)
    state.counts[SCOPES + EACH * scope + OPEN] += opened * stand.stages
    for stage in range(stand.stages):
        state.replicas[replica * stand.stages + stage].closed = what != UP


@compiled
def follow(stand: Standing, replica: int, order: int, time: float) -> None:
    """The next one of an order is to be drained at `time`, s."""
    if order >= 0 and stand.orders[order].stride:
        other = replica + stand.orders[order].stride
        if other < stand.orders[order].end:
            stand.replicas[other].due, stand.replicas[other].next_order = time, order


@compiled
def come_back(state: State, stand: Standing, replica: int, time: float) -> None:
    """A replica takes requests from `time`, s, on."""
    order = stand.replicas[replica].order
    stand.replicas[replica].order = -1
    become(state, stand, replica, UP, np.inf, time)
    if order >= 0:
        follow(stand, replica, order, time + stand.orders[order].pause)


@compiled
def drain(state: State, stand: Standing, replica: int, order: int, time: float) -> None:
    """A replica takes no requests from `time`, s, on; one that takes none is passed over."""
    if stand.replicas[replica].state != UP:
        follow(stand, replica, order, time)
        return
    stand.marks[DRAINS] += 1
    stand.replicas[replica].order = order
    become(state, stand, replica, DRAINING, np.inf, time)


@compiled
def leave_empty(state: State, stand: Standing, replica: int, time: float) -> None:
    """A drained replica has nothing left at `time`, s: it starts again, or goes off."""
    order = stand.replicas[replica].order
    if order < 0:
        become(state, stand, replica, OFF, np.inf, time)
    else:
        become(state, stand, replica, OUT, time + stand.orders[order].length, time)
    plan_next(stand)


@compiled
def fail(state: State, stand: Standing, replica: int, length: float, time: float) -> bool:
    """A replica fails at `time` (s) and is out for `length` s; False when it was not there to."""
    before = stand.replicas[replica].state
    if before in (OUT, OFF):
        return False
    stand.marks[FAILURES] += 1
    order = stand.replicas[replica].order
    if before == DRAINING and order < 0:  # it was to go off
        become(state, stand, replica, OFF, np.inf, time)
        return True
    become(state, stand, replica, OUT, time + length, time)
    if length == np.inf:
        stand.replicas[replica].order = -1
        if order >= 0:
            follow(stand, replica, order, time + stand.orders[order].pause)
    return True


@compiled
def next_change(state: State, stand: Standing, time: float) -> tuple[int, int]:
    """Let the first change due at `time`, s, happen: what it came to, and to which replica.

    Replicas come back first, then they are drained, then the calendar is looked at. Ticks of the
    autoscaling are left to `ticks`.
    """
    for replica in range(len(stand.replicas)):
        waits = stand.replicas[replica].state in (OUT, STARTING)
        if waits and stand.replicas[replica].back <= time:
            come_back(state, stand, replica, time)
            plan_next(stand)
            return OPENED, replica
    for replica in range(len(stand.replicas)):
        if stand.replicas[replica].due <= time:
            order = stand.replicas[replica].next_order
            stand.replicas[replica].due = np.inf
            drain(state, stand, replica, order, time)
            plan_next(stand)
            return NOTHING, replica
    place = stand.marks[CALLS]
    if place < len(stand.calls) and stand.calls[place].time <= time:
        stand.marks[CALLS] += 1
        replica, order = stand.calls[place].replica, stand.calls[place].order
        gone = False
        if order >= 0:
            drain(state, stand, replica, order, time)
        else:
            gone = fail(state, stand, replica, stand.calls[place].length, time)
        plan_next(stand)
        return (FAILED if gone else NOTHING), replica
    return NOTHING, -1


@compiled
def alive(stand: Standing, scope: int, scopes: int) -> bool:
    """Whether any replica of a scope takes requests, or will again."""
    size = len(stand.replicas) // scopes
    for replica in range(scope * size, (scope + 1) * size):
        state = stand.replicas[replica].state
        if state in (UP, STARTING, DRAINING):
            return True
        if state == OFF and stand.scaling.interval < np.inf:
            return True
        if state == OUT and stand.replicas[replica].back < np.inf:
            return True
    return False
