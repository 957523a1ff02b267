"""The oracle of separate prefill and decode pools, and of the caches on their way between them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from itertools import count
from math import ceil
from typing import NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import (
    Arrivals,
    Event,
    Request,
    Result,
    arriving,
    result,
    steps,
)
from racktwin.serving.oracle_cache import Tier
from racktwin.serving.oracle_rank import Job, Rank
from racktwin.serving.oracle_replica import Replica
from racktwin.serving.oracle_router import Desk

# Events: a step of either pool ends, a cache or a request arrives, a step of either pool begins; at
# the same time in this order.
PREFILLED, DECODED, LAND, ARRIVE, PREFILL, DECODE = range(6)


class Pool(NamedTuple):
    """One of the two pools: equal replicas and the name of their router."""

    rules: Rules
    clock: Clock
    replicas: int
    router: str


class Cache(NamedTuple):
    """A computed prompt: its request, where it lies, its blocks there but for shared units.

    scope: the part of the pools it belongs to.
    """

    job: Job
    replica: Replica
    rank: Rank
    blocks: int
    units: list[int]
    scope: int


class Pair:
    """Both pools under simulation, in `scopes` parts. start: s, pace: s/token, of a transfer."""

    def __init__(
        self, prefill: Pool, decode: Pool, start: float, pace: float, scopes: int = 1
    ) -> None:
        self.prefill, self.decode = (
            [Replica(pool.rules, pool.clock, shared) for _ in range(pool.replicas)]
            for pool, shared in ((prefill, Tier(prefill.rules.shared)), (decode, Tier(0)))
        )
        self.desk = Desk(self.prefill, prefill.router, scopes)
        self.decoders = Desk(self.decode, decode.router, scopes)
        self.start, self.pace = start, pace
        self.queues: list[deque[Cache]] = [deque() for _ in range(scopes)]
        self.ports = dict.fromkeys(self.prefill, 0.0)
        self.flying: list[tuple[float, int, Cache, Replica, Rank, float]] = []
        self.order = count()

    def keep(self, job: Job, output: int, replica: Replica, rank: Rank) -> None:
        """A prompt of an answer of `output` tokens is computed; its cache waits to leave."""
        job.output, job.left = output, output - 1
        rank.hold(job, job.ids)
        units, job.units = job.units, []
        blocks = ceil(job.prompt / replica.rules.block) - len(units) * rank.weight
        rank.kept += blocks
        scope = self.scope_of(self.prefill, replica)
        self.queues[scope].append(Cache(job, replica, rank, blocks, units, scope))

    def scope_of(self, pool: list[Replica], replica: Replica) -> int:
        """The part of a pool that a replica belongs to."""
        return pool.index(replica) * len(self.queues) // len(pool)

    def depart(self, scope: int, time: float) -> None:
        """Caches leave in order while decode replicas have room, at `time`, s, or later."""
        queue = self.queues[scope]
        while queue:
            cache = queue[0]
            job = cache.job
            replica = self.decoders.choose(job, scope)
            assert replica is not None
            rank, rules = min(replica.ranks, key=lambda rank: rank.requests), replica.rules
            job.promised = ceil((job.prompt + job.left) / rules.block)
            blocks = job.promised if rules.reserve == 1 else ceil(job.prompt / rules.block)
            full = len(rank.running) + rank.landing >= rules.max_batch
            if full or rank.used(1) + blocks > rules.blocks:
                return
            queue.popleft()
            rank.kept += blocks
            rank.landing += 1
            leave = max(time, job.first, self.ports[cache.replica])
            land = leave + self.start + self.pace * job.prompt
            self.ports[cache.replica] = land
            heapq.heappush(self.flying, (land, next(self.order), cache, replica, rank, blocks))

    def land(self) -> None:
        """The first cache arrives: its sequence decodes, its source is free."""
        time, _, cache, replica, rank, blocks = heapq.heappop(self.flying)
        replica.land(rank, cache.job, blocks)
        replica.wake(time)
        cache.rank.trim()
        cache.rank.let_go(cache.units)
        cache.rank.kept -= cache.blocks
        if any(rank.waiting for rank in cache.replica.ranks):
            cache.replica.wake(time)

    def events(self) -> list[Event]:
        """What comes next in the pools and between them."""
        landing = [(self.flying[0][0], LAND, 0)] if self.flying else []
        return [
            *steps(self.prefill, PREFILLED, PREFILL),
            *steps(self.decode, DECODED, DECODE),
            *landing,
        ]


def simulate(
    prefill: Pool,
    decode: Pool,
    requests: Sequence[Request],
    start: float,
    pace: float,
    concurrency: int | None = None,
    scopes: int = 1,
) -> list[Result]:
    """Serve `requests` by two pools in `scopes` parts; start: s, pace: s/token, of a transfer."""
    pair = Pair(prefill, decode, start, pace, scopes)
    arrivals, results = Arrivals(requests, concurrency), []

    def end(job: Job, finish: float) -> None:
        arrivals.release(job.number, finish, job.arrival)
        results.append(result(job, finish))

    while events := [*pair.events(), *arrivals.first(ARRIVE)]:
        now, event, at = min(events)
        if event == PREFILLED:
            replica = pair.prefill[at]
            homes = {job.number: rank for rank in replica.ranks for job in rank.running}
            for job in replica.end():
                if requests[job.number].output == 1:
                    end(job, now)
                else:
                    pair.keep(job, requests[job.number].output, replica, homes[job.number])
            pair.depart(pair.scope_of(pair.prefill, replica), now)
        elif event == DECODED:
            for job in pair.decode[at].end():
                end(job, now)
            pair.depart(pair.scope_of(pair.decode, pair.decode[at]), now)
        elif event == LAND:
            pair.land()
        elif event == ARRIVE:
            number = arrivals.take()
            job = arriving(prefill.rules, requests[number], number, now)
            job.output = 1
            scope = pair.desk.deal(pair.decoders)
            assert scope is not None
            pair.desk.take(job, scope)
        elif event == PREFILL:
            pair.prefill[at].begin()
        else:
            pair.decode[at].begin()
    return sorted(results)
