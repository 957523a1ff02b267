"""The oracle: an independent, slow and readable simulation of the same pool as the kernel's.

docs/background/scheduling.md is the specification of both. Requests are objects in lists, every
step is composed anew, and blocks are counted sequence by sequence.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle_rank import Job
from racktwin.serving.oracle_replica import Replica

Router = Callable[[Sequence[Replica], int, int], int]


class Request(NamedTuple):
    """A request; arrival: s; prompt, output: tokens; pause: s after request `after` has ended."""

    arrival: float
    prompt: int
    output: int
    priority: int = 0
    after: int = -1
    pause: float = 0.0


class Result(NamedTuple):
    """A request that was served; times in s."""

    number: int
    arrival: float
    admitted: float
    first: float
    finish: float
    losses: int


def _mixed(value: int) -> int:
    """The finaliser of splitmix64."""
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def _least(load: Callable[[Replica], float]) -> Router:
    return lambda pool, number, count: min(range(len(pool)), key=lambda at: load(pool[at]))


def _power_of_two(pool: Sequence[Replica], number: int, count: int) -> int:
    one, other = _mixed(number) % len(pool), (_mixed(number) >> 32) % len(pool)
    return min((one, other), key=lambda at: pool[at].outstanding)


# pool, number of the request, how many came before it -> index of the replica it goes to
ROUTERS: dict[str, Router] = {
    "round_robin": lambda pool, number, count: count % len(pool),
    "least_outstanding": _least(lambda replica: replica.outstanding),
    "least_kv": _least(lambda replica: replica.context + replica.pending),
    "power_of_two": _power_of_two,
    "input_balanced": _least(lambda replica: replica.pending),
}


class Arrivals:
    """Requests to come in order of time: those of the stream, and those completions release.

    concurrency: so many are in flight from the start on, each followed by the next of the stream.
    """

    def __init__(self, requests: Sequence[Request], concurrency: int | None) -> None:
        self.requests, self.closed = requests, concurrency is not None
        self.followers: dict[int, list[int]] = {}
        self.heap: list[tuple[float, bool, int]] = []
        self.later = deque(range(concurrency or 0, len(requests)))
        if concurrency is not None:
            self.heap = [(0.0, False, number) for number in range(min(concurrency, len(requests)))]
            return
        for number, request in enumerate(requests):
            if request.after >= 0:
                self.followers.setdefault(request.after, []).append(number)
            else:
                self.heap.append((request.arrival, True, number))
        heapq.heapify(self.heap)

    def release(self, number: int, time: float) -> None:
        """Request `number` has ended at `time`, s."""
        if self.closed and self.later:
            heapq.heappush(self.heap, (time, False, self.later.popleft()))
        for follower in self.followers.get(number, []):
            request = self.requests[follower]
            ready = max(request.arrival, time + request.pause)
            heapq.heappush(self.heap, (ready, False, follower))


def simulate(
    rules: Rules,
    clock: Clock,
    requests: Sequence[Request],
    replicas: int = 1,
    router: str = "round_robin",
    concurrency: int | None = None,
) -> tuple[list[Result], dict[str, float]]:
    """Serve `requests`, in order of arrival; returns one result each that ended, and the sums."""
    pool = [Replica(rules, clock) for _ in range(replicas)]
    arrivals, results, count = Arrivals(requests, concurrency), [], 0
    while True:
        starts = [(each.now, at) for at, each in enumerate(pool) if each.busy]
        start, first = min(starts, default=(float("inf"), -1))
        if arrivals.heap and arrivals.heap[0][0] <= start:
            time, _, number = heapq.heappop(arrivals.heap)
            asked = requests[number]
            job = Job(number, time, asked.prompt, asked.output, asked.priority)
            pool[ROUTERS[router](pool, number, count)].take(job)
            count += 1
            continue
        if first < 0:
            break
        for job, finish in pool[first].go():
            arrivals.release(job.number, finish)
            results.append(
                Result(job.number, job.arrival, job.admitted, job.first, finish, job.losses)
            )
    sums = {name: sum(each.sums[name] for each in pool) for name in SUMS}
    return sorted(results), sums
