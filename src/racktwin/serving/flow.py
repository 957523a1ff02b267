"""Requests still to come: those of the stream, and those that completions let in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import Floats, Ints, record


class Flow(NamedTuple):
    """Requests of a stream still to come.

    arrival (s; inf: when released), prompt, output (tokens), priority: of each request.
    successor, sibling: first request a completion releases, the next one it releases too; -1 none.
    pause: s from that completion. heap: (time, number) of the released, a binary heap.
    marks: next request of the stream, heap size, results seen, requests that are served or pause;
    requests held, and those on their way back to the router.
    closed: so many are served or pause, and a completion lets in the next of the stream that waits
    for no other; 0 of an open load.
    again: what is known of each request that came before (see `AGAIN`); no rows where no replica
    can fail or be closed. held: those that no replica takes. migrate: what was told of an answer
    is kept when a replica fails; detection: s until the router knows.
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
    closed: int
    again: NDArray[Any]
    held: Ints
    migrate: bool
    detection: float


HEAP = record(floats="time", ints="number")
# arrival: s of the first time, -1: it has not come; admitted, first, second, read, cached,
# cached_host, cached_shared, losses: as in `fleet.SLOT`. prompt, left: tokens to compute and to
# come; moves: failures it was on; away: on its way to the router after one, or after it was held.
AGAIN = record(
    floats="arrival admitted first second read",
    ints="prompt left cached cached_host cached_shared losses moves away",
)
STREAM, SIZE, SEEN, OPEN, HELD, AWAY = range(6)


@inlined
def earlier(heap: NDArray[Any], one: int, other: int) -> bool:
    """Whether entry `one` of a heap (s, number) comes before entry `other`."""
    if heap[one].time != heap[other].time:
        return heap[one].time < heap[other].time
    return heap[one].number < heap[other].number


@inlined
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
def remove(heap: NDArray[Any], size: int, place: int) -> None:
    """Take the entry at a place off a heap of `size` entries."""
    at = place
    while at:  # up to the top, and off it
        swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    pop(heap, size)


@compiled
def let_in(flow: Flow, number: int, time: float) -> None:
    """A request comes at `time` (s)."""
    push(flow.heap, flow.marks[SIZE], time, number)
    flow.marks[SIZE] += 1
    flow.marks[OPEN] += 1


@compiled
def skip_turns(flow: Flow) -> None:
    """Go on to the next request of the stream that waits for no other."""
    while flow.marks[STREAM] < len(flow.arrival) and flow.pause[flow.marks[STREAM]] >= 0:
        flow.marks[STREAM] += 1  # comes when its predecessor has ended


@compiled
def release(flow: Flow, number: int, time: float, begun: float) -> None:
    """A request that came at `begun` has ended (s): let in what waited for it.

    In a closed loop the stream's times are only those between the turns of a session.
    """
    follower = flow.successor[number]
    while follower >= 0:
        earliest = flow.arrival[follower]
        if flow.closed:
            earliest = begun + (earliest - flow.arrival[number])
        let_in(flow, follower, max(earliest, time + flow.pause[follower]))
        follower = flow.sibling[follower]
    flow.marks[OPEN] -= 1
    while flow.closed and flow.marks[OPEN] < flow.closed:
        skip_turns(flow)
        follower = flow.marks[STREAM]
        if follower == len(flow.arrival):
            return
        flow.marks[STREAM] += 1
        let_in(flow, follower, time)


@inlined
def next_arrival(flow: Flow) -> tuple[float, int]:
    """Time and number of the next request, (inf, -1) when none is known."""
    time, number = np.inf, -1
    if not flow.closed:
        skip_turns(flow)
        if flow.marks[STREAM] < len(flow.arrival):
            number = flow.marks[STREAM]
            time = flow.arrival[number]
    if flow.marks[SIZE] and flow.heap[0].time <= time:
        return flow.heap[0].time, flow.heap[0].number
    return time, number


@inlined
def take_arrival(flow: Flow, number: int) -> None:
    """Take the request `next_arrival` named off the stream or the heap."""
    if flow.marks[SIZE] and flow.heap[0].number == number:
        pop(flow.heap, flow.marks[SIZE])
        flow.marks[SIZE] -= 1
    else:
        flow.marks[STREAM] += 1
