"""The oracle: an independent, slow and readable simulation of the same pool as the kernel's.

docs/background/scheduling.md is the specification of both. Requests are objects in lists, every
step is composed anew, and blocks are counted sequence by sequence.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle_cache import Tier
from racktwin.serving.oracle_rank import Job
from racktwin.serving.oracle_replica import Replica
from racktwin.serving.oracle_router import Desk

Event = tuple[float, int, int]  # s, what happens, where; the smallest is next
END, ARRIVE, BEGIN = range(3)  # steps end, requests arrive, steps begin: at the same time in order


class Request(NamedTuple):
    """A request; arrival: s; prompt, output: tokens; pause: s after request `after` has ended.

    ids: of the units of its prompt, see `Rules.unit`; the last may be part full. images: tokens
    they make, s and J of encoding them.
    """

    arrival: float
    prompt: int
    output: int
    priority: int = 0
    after: int = -1
    pause: float = 0.0
    ids: tuple[int, ...] = ()
    images: tuple[int, float, float] = (0, 0.0, 0.0)


class Result(NamedTuple):
    """A request that was served; times in s; cached: tokens found when it was first admitted.

    first, second, finish: of its tokens; second: -1 for an answer of one token. cached_host,
    cached_shared: of these tokens in host memory and in the shared pool.
    """

    number: int
    arrival: float
    admitted: float
    first: float
    finish: float
    losses: int
    cached: int = 0
    second: float = -1.0
    cached_host: int = 0
    cached_shared: int = 0


class Arrivals:
    """Requests to come in order of time: those of the stream, and those completions release.

    concurrency: so many are in flight or pause from the start on; when one ends and none waits for
    it, the next of the stream comes that waits for no other.
    """

    def __init__(self, requests: Sequence[Request], concurrency: int | None) -> None:
        self.requests, self.most = requests, concurrency
        self.followers: dict[int, list[int]] = {}
        self.heap: list[tuple[float, bool, int]] = []
        self.later: deque[int] = deque()
        self.open = 0
        for number, request in enumerate(requests):
            if request.after >= 0:
                self.followers.setdefault(request.after, []).append(number)
            else:
                self.later.append(number)
        if concurrency is None:
            self.heap = [(requests[number].arrival, True, number) for number in self.later]
            heapq.heapify(self.heap)
        self.fill(0.0)

    def first(self, event: int) -> list[Event]:
        """The next arrival as an `event`, if there is one."""
        return [(self.heap[0][0], event, 0)] if self.heap else []

    def take(self) -> int:
        """The number of the request that arrives."""
        return heapq.heappop(self.heap)[2]

    def come(self, number: int, time: float) -> None:
        """Request `number` is to come at `time`, s."""
        heapq.heappush(self.heap, (time, False, number))
        self.open += 1

    def fill(self, time: float) -> None:
        """Of a closed loop: let in as many as are missing at `time`, s."""
        while self.most is not None and self.open < self.most and self.later:
            self.come(self.later.popleft(), time)

    def release(self, number: int, time: float, begun: float) -> None:
        """Request `number`, which came at `begun`, has ended at `time`, s."""
        for follower in self.followers.get(number, []):
            request = self.requests[follower]
            earliest = request.arrival
            if self.most is not None:
                earliest = begun + (request.arrival - self.requests[number].arrival)
            self.come(follower, max(earliest, time + request.pause))
        self.open -= 1
        self.fill(time)


def steps(pool: Sequence[Replica], end: int, begin: int) -> list[Event]:
    """What each busy replica does next, as an event: `end` a step, or `begin` one."""
    return [
        (each.now, end if each.under_way else begin, at)
        for at, each in enumerate(pool)
        if each.busy
    ]


def _heirs(rules: Rules, requests: Sequence[Request]) -> dict[int, Sequence[int]]:
    """By request the units of the first one after it that begins with its whole prompt."""
    heirs: dict[int, Sequence[int]] = {}
    for request in requests:
        if request.after >= 0 and request.after not in heirs:
            before, units = _units(rules, requests[request.after]), _units(rules, request)
            if units[: len(before)] == before:
                heirs[request.after] = units
    return heirs


def _units(rules: Rules, request: Request) -> tuple[int, ...]:
    """Full units of a prompt."""
    return request.ids[: request.prompt // rules.unit] if rules.unit else ()


def arriving(rules: Rules, request: Request, number: int, time: float) -> Job:
    """A request as a replica takes it, at `time`, s."""
    job = Job(number, time, request.prompt, request.output, request.priority)
    job.ids, job.images = _units(rules, request), request.images
    return job


def result(job: Job, finish: float) -> Result:
    """The result of a request that ended at `finish`, s."""
    times = (job.arrival, job.admitted, job.first, finish)
    tiers = (job.cached_host, job.cached_shared)
    return Result(job.number, *times, job.losses, job.cached, job.second, *tiers)


def moved(replicas: Sequence[Replica], pool: Tier) -> dict[str, float]:
    """Units loaded from the tiers and written to them (count)."""
    ranks = [rank for replica in replicas for rank in replica.ranks]
    return {
        "from_host": sum(rank.loaded[0] for rank in ranks),
        "from_shared": sum(rank.loaded[1] for rank in ranks),
        "to_host": sum(rank.host.written for rank in ranks),
        "to_shared": pool.written,
    }


def simulate(
    rules: Rules,
    clock: Clock,
    requests: Sequence[Request],
    replicas: int = 1,
    router: str = "round_robin",
    concurrency: int | None = None,
    scopes: int = 1,
) -> tuple[list[Result], dict[str, float]]:
    """Serve `requests`, in order of arrival; returns one result each that ended, and the sums.

    scopes: equal parts of the replicas, each with a router of its own.
    """
    shared = Tier(rules.shared)
    pool = [Replica(rules, clock, shared) for _ in range(replicas)]
    desk = Desk(pool, router, scopes)
    arrivals, results = Arrivals(requests, concurrency), []
    heirs = _heirs(rules, requests)
    while events := [*steps(pool, END, BEGIN), *arrivals.first(ARRIVE)]:
        now, event, at = min(events)
        if event == END:
            for job in pool[at].end():
                arrivals.release(job.number, now, job.arrival)
                results.append(result(job, now))
        elif event == BEGIN:
            pool[at].begin()
        else:
            number = arrivals.take()
            job = arriving(rules, requests[number], number, now)
            job.answer = heirs.get(number, ())
            scope = desk.deal()
            assert scope is not None
            desk.take(job, scope)
    sums = {name: sum(each.sums[name] for each in pool) for name in SUMS}
    return sorted(results), sums | moved(pool, shared)
