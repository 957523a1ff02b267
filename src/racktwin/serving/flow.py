"""Requests still to come: those of the stream, and those that completions let in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Floats, Ints, record


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
