"""The compiled loop in which arrivals and replicas meet in the order of time.

Needed where the next arrival depends on what has been served: routers that look at the pool,
closed loops, sessions. (Round robin under open load does without: `kernel.run_round_robin`.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.batching import Draft
from racktwin.serving.clock import Clock
from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import IDLE, Floats, Ints, Rules, State, record
from racktwin.serving.kernel import advance, begin, end_step, enqueue
from racktwin.serving.router import route
from racktwin.serving.sharing import room_for_units


class Flow(NamedTuple):
    """Requests of a stream still to come.

    arrival (s; inf: when released), prompt, output (tokens), priority: of each request.
    successor, sibling: first request a completion releases, the next one it releases too; -1 none.
    pause: s from that completion. heap: (time, number) of the released, a binary heap.
    marks: next request of the stream, heap size, first number of the stretch, results seen.
    closed: each completion releases the next of the stream.
    """

    arrival: Floats
    prompt: Ints
    output: Ints
    priority: Ints
    successor: Ints
    sibling: Ints
    pause: Floats
    heap: NDArray[Any]
    marks: Ints
    closed: bool


HEAP = record(floats="time", ints="number")
STREAM, SIZE, SEEN = 0, 1, 2


@compiled
def earlier(heap: NDArray[Any], one: int, other: int) -> bool:
    """Whether entry `one` of a heap (s, number) comes before entry `other`."""
    if heap[one].time != heap[other].time:
        return heap[one].time < heap[other].time
    return heap[one].number < heap[other].number


@compiled
def swap(heap: NDArray[Any], one: int, other: int) -> None:
    """Exchange two entries of a heap (s, number)."""
    time, number = heap[one].time, heap[one].number
    heap[one].time, heap[one].number = heap[other].time, heap[other].number
    heap[other].time, heap[other].number = time, number


@compiled
def push(heap: NDArray[Any], size: int, time: float, number: int) -> None:
    """Add an entry to a heap of `size` entries."""
    heap[size].time, heap[size].number = time, number
    at = size
    while at and earlier(heap, at, (at - 1) // 2):
        swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@compiled
def pop(heap: NDArray[Any], size: int) -> None:
    """Take the first entry off a heap of `size` entries."""
    swap(heap, 0, size - 1)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            return
        if child + 1 < size - 1 and earlier(heap, child + 1, child):
            child += 1
        if not earlier(heap, child, at):
            return
        swap(heap, at, child)
        at = child


@compiled
def release(flow: Flow, number: int, time: float) -> None:
    """A request has ended: let in what waited for it."""
    if flow.closed:
        follower = flow.marks[STREAM]
        if follower < len(flow.arrival):
            flow.marks[STREAM] += 1
            push(flow.heap, flow.marks[SIZE], time, follower)
            flow.marks[SIZE] += 1
        return
    follower = flow.successor[number]
    while follower >= 0:
        ready = max(flow.arrival[follower], time + flow.pause[follower])
        push(flow.heap, flow.marks[SIZE], ready, follower)
        flow.marks[SIZE] += 1
        follower = flow.sibling[follower]


@compiled
def next_arrival(flow: Flow) -> tuple[float, int]:
    """Time and number of the next request, (inf, -1) when none is known."""
    time, number = np.inf, -1
    if not flow.closed:
        while flow.marks[STREAM] < len(flow.arrival) and flow.pause[flow.marks[STREAM]] >= 0:
            flow.marks[STREAM] += 1  # comes when its predecessor has ended
        if flow.marks[STREAM] < len(flow.arrival):
            number = flow.marks[STREAM]
            time = flow.arrival[number]
    if flow.marks[SIZE] and flow.heap[0].time <= time:
        return flow.heap[0].time, flow.heap[0].number
    return time, number


@compiled
def take_arrival(flow: Flow, number: int) -> None:
    """Take the request `next_arrival` named off the stream or the heap."""
    if flow.marks[SIZE] and flow.heap[0].number == number:
        pop(flow.heap, flow.marks[SIZE])
        flow.marks[SIZE] -= 1
    else:
        flow.marks[STREAM] += 1


@compiled
def first_to_step(state: State) -> tuple[int, float, bool]:
    """The busy replica that ends or begins a step first, and when; whether it ends one.

    At the same time steps end before others begin. (-1, inf, False) when all are idle.
    """
    chosen, first, ends = -1, np.inf, False
    for replica in range(len(state.replicas)):
        if not state.replicas[replica].busy or state.replicas[replica].now > first:
            continue
        ending = state.replicas[replica].under_way != IDLE
        if state.replicas[replica].now < first or (ending and not ends):
            chosen, first, ends = replica, state.replicas[replica].now, ending
    return chosen, first, ends


@compiled
def collect(state: State, flow: Flow) -> None:
    """Let the results not yet seen release what waits for them."""
    while flow.marks[SEEN] < state.counts[1]:
        result = state.results[flow.marks[SEEN]]
        release(flow, result.number, result.finish)
        flow.marks[SEEN] += 1


@compiled
def run_routed(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    flow: Flow,
    policy: int,
    releasing: bool,
    until: float,
) -> bool:
    """Go on until all arrivals and steps before `until` (s) are done.

    releasing: completions let requests in, so replicas go step by step in the order of time. At
    the same time steps end, then requests arrive, then steps begin.
    False when slots or room for results ran out: give more, and call again.
    """
    while True:
        time, number = next_arrival(flow)
        if not releasing:
            for replica in range(len(state.replicas)):
                if state.replicas[replica].busy and state.replicas[replica].now <= time:
                    bound = min(time, until)
                    advance(state, rules, clock, draft, replica, bound)
        else:
            replica, at, ends = first_to_step(state)
            if ends and at <= time and at <= until:
                end_step(state, rules, replica)
                collect(state, flow)
                continue
            if replica >= 0 and at < time and at < until:
                begin(state, rules, clock, draft, replica, at)
                continue
        if number < 0 or time >= until:
            return True
        if state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results):
            return False
        prompt, output = flow.prompt[number], flow.output[number]
        if rules.unit and not room_for_units(state, rules, prompt + output):
            return False
        take_arrival(flow, number)
        target = route(state, rules, policy, number, prompt)
        enqueue(
            state,
            rules,
            target,
            number,
            time,
            prompt,
            output,
            flow.priority[number],
            policy,
        )
