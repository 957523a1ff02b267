"""The oracle of separate prefill and decode pools, and of the caches on their way between them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from math import ceil, inf
from typing import Any, NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import (
    Arrivals,
    Event,
    Front,
    Request,
    Result,
    Side,
    heirs,
    result,
    steps,
)
from racktwin.serving.oracle_cache import Tier
from racktwin.serving.oracle_crew import Crew, Plan
from racktwin.serving.oracle_rank import Job, Rank
from racktwin.serving.oracle_replica import Replica
from racktwin.serving.oracle_router import Desk
from racktwin.serving.outages import Recovery

# Events: a step of either pool ends, a cache lands, replicas come and go, a request arrives, a step
# of either pool begins; at the same time in this order.
PREFILLED, DECODED, LAND, CHANGE, ARRIVE, PREFILL, DECODE = range(7)


class Pool(NamedTuple):
    """One of the two pools: equal replicas, the name of their router, what happens to them."""

    rules: Rules
    clock: Clock
    replicas: int
    router: str
    plan: Plan = Plan()


class Cache(NamedTuple):
    """A computed prompt: its request, where it lies, its blocks there but for shared units.

    scope: the part of the pools it belongs to. ready: s its prompt ended.
    """

    job: Job
    replica: Replica
    rank: Rank
    blocks: int
    units: list[int]
    scope: int
    ready: float


class Flight(NamedTuple):
    """A cache on its way, there at `land`, s, after those of the same time with a lower order.

    blocks: that it takes on `rank` of `replica`, where it goes.
    """

    land: float
    order: int
    cache: Cache
    replica: Replica
    rank: Rank
    blocks: float


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
        self.crews = (
            Crew(self.prefill, prefill.plan, scopes),
            Crew(self.decode, decode.plan, scopes),
        )
        self.start, self.pace = start, pace
        self.queues: list[deque[Cache]] = [deque() for _ in range(scopes)]
        self.ports = dict.fromkeys(self.prefill, 0.0)
        self.flying: list[Flight] = []
        self.told: dict[int, float] = {}  # s at which clients had a first token
        self.order = count()

    def keep(self, job: Job, replica: Replica, rank: Rank, time: float) -> None:
        """A prompt is computed at `time`, s, and its cache waits to leave."""
        rank.hold(job, job.ids)
        units, job.units = job.units, []
        blocks = ceil(job.prompt / replica.rules.block) - len(units) * rank.weight
        rank.kept += blocks
        rank.leaving += job.prompt
        scope = self.scope_of(self.prefill, replica)
        self.queues[scope].append(Cache(job, replica, rank, blocks, units, scope, time))

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
            if replica is None:
                return
            rank, rules = min(replica.ranks, key=lambda rank: rank.requests), replica.rules
            job.promised = ceil((job.prompt + job.left) / rules.block)
            blocks = job.promised if rules.reserve == 1 else ceil(job.prompt / rules.block)
            full = len(rank.running) + rank.landing >= rules.max_batch
            if full or rank.used(1) + blocks > rules.blocks:
                return
            queue.popleft()
            rank.kept += blocks
            rank.landing += 1
            leave = max(time, cache.ready, self.ports[cache.replica])
            land = leave + self.start + self.pace * job.prompt
            self.ports[cache.replica] = land
            flight = Flight(land, next(self.order), cache, replica, rank, blocks)
            heapq.heappush(self.flying, flight)

    def land(self) -> None:
        """The first cache arrives: its sequence tells a token and decodes, its source is free."""
        flight = heapq.heappop(self.flying)
        job = flight.cache.job
        if job.number not in self.told:
            self.told[job.number] = job.first = flight.land
        elif job.second < 0 and job.output - job.left == 2:
            job.second = flight.land
        flight.replica.land(flight.rank, flight.cache.job, flight.blocks)
        flight.replica.wake(flight.land)
        self.free(flight.cache, flight.land)

    def free(self, cache: Cache, time: float) -> None:
        """A cache is not needed where it was computed from `time`, s, on."""
        cache.rank.trim()
        cache.rank.let_go(cache.units)
        cache.rank.kept -= cache.blocks
        cache.rank.leaving -= cache.job.prompt
        if any(rank.waiting for rank in cache.replica.ranks):
            cache.replica.wake(time)

    def lose_prefill(self, stage: Replica, time: float) -> list[Job]:
        """The requests whose caches are lost with a prefill replica at `time`, s."""
        gone = [cache for queue in self.queues for cache in queue if cache.replica is stage]
        for queue in self.queues:
            for cache in [cache for cache in queue if cache.replica is stage]:
                queue.remove(cache)
        flights = [flight for flight in self.flying if flight.cache.replica is stage]
        for flight in flights:
            flight.rank.kept -= flight.blocks
            flight.rank.landing -= 1
        self.cancel(flights)
        self.ports[stage] = time
        gone += [flight.cache for flight in flights]
        return self.count(gone, stage)

    def lose_decode(self, stage: Replica, time: float) -> list[Job]:
        """The requests whose caches were on their way to a decode replica lost at `time`, s."""
        flights = [flight for flight in self.flying if flight.replica is stage]
        flights.sort(key=lambda flight: flight.order)
        self.cancel(flights)
        for flight in flights:
            self.free(flight.cache, time)
        return self.count([flight.cache for flight in flights], stage)

    def cancel(self, flights: list[Flight]) -> None:
        """These will not land."""
        self.flying = [flight for flight in self.flying if flight not in flights]
        heapq.heapify(self.flying)

    def count(self, caches: list[Cache], stage: Replica) -> list[Job]:
        """The requests of caches lost with a replica; the token of their prompt was not told."""
        for cache in caches:
            stage.sums["interrupted"] += 1
            stage.sums["lost_tokens"] += cache.job.prompt
            cache.job.steps, cache.job.left = None, cache.job.left + 1
        return [cache.job for cache in caches]

    @property
    def kept(self) -> set[Replica]:
        """Prefill replicas with caches that are not gone."""
        waiting = {cache.replica for queue in self.queues for cache in queue}
        return waiting | {flight.cache.replica for flight in self.flying}

    def events(self) -> list[Event]:
        """What comes next in the pools and between them."""
        landing = [(self.flying[0].land, LAND, 0)] if self.flying else []
        return [
            *steps(self.prefill, PREFILLED, PREFILL),
            *steps(self.decode, DECODED, DECODE),
            *landing,
        ]


class Service:
    """Two pools under simulation, in `scopes` parts, which can stop and go on.

    start: s, pace: s/token, of a transfer.
    """

    def __init__(
        self,
        prefill: Pool,
        decode: Pool,
        start: float,
        pace: float,
        concurrency: int | None = None,
        scopes: int = 1,
        recovery: Recovery | None = None,
    ) -> None:
        self.pair = pair = Pair(prefill, decode, start, pace, scopes)
        self.front = Front(prefill.rules, Arrivals(concurrency), recovery or Recovery())
        self.found: list[Result] = []
        self.left: dict[int, int] = {}  # tokens to come of the requests in the prefill pool
        self.sides = {
            role: Side(replicas, crew, replicas[0].ranks[0].pool)
            for role, replicas, crew in zip(
                ("prefill", "decode"), (pair.prefill, pair.decode), pair.crews, strict=True
            )
        }
        self.does: dict[int, Callable[[int, float], None]] = {
            PREFILLED: self.prefilled,
            DECODED: self.decoded,
            LAND: lambda at, now: pair.land(),
            CHANGE: self.change,
            ARRIVE: lambda at, now: self.arrive(now),
            PREFILL: lambda at, now: pair.prefill[at].begin(),
            DECODE: lambda at, now: pair.decode[at].begin(),
        }

    @property
    def between(self) -> int:
        """Requests at the router, and caches that wait to leave the prefill pool."""
        return len(self.front.held) + len(self.front.known) + sum(map(len, self.pair.queues))

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests or caches wait for a replica."""
        pair = self.pair
        busy = any(each.busy for each in (*pair.prefill, *pair.decode))
        if busy or pair.flying or self.front.arrivals.released:
            return False
        alive = [crew.alive for crew in pair.crews]
        may = any(first and second for first, second in zip(*alive, strict=True))
        leaves = any(queue and up for queue, up in zip(pair.queues, alive[1], strict=True))
        waits = self.front.held or any(pair.queues)
        return bool(waits) and not (self.front.held and may) and not leaves

    def run(self, until: float, results: float = inf) -> bool:
        """Go on to `until`, s; False when so many `results` (count) are there before."""
        arrivals, pair = self.front.arrivals, self.pair
        arrivals.fill(0.0)
        while len(self.found) < results:
            work = [*pair.events(), *arrivals.first(ARRIVE)]
            changes = [(crew.next, CHANGE, which) for which, crew in enumerate(pair.crews)]
            now, event, at = min([*work, *changes])
            waiting = self.front.held or any(pair.queues)
            if now >= until or not (work or waiting or until < inf):
                return True
            self.does[event](at, now)
            pair.crews[0].leave(now, pair.kept)
            pair.crews[1].leave(now)
        return False

    def end(self, job: Job, now: float, replica: int) -> None:
        """A request ends at `now`, s, on the replica of that number."""
        self.front.arrivals.release(job.number, now, job.arrival)
        self.found.append(result(job, now, replica))

    def arrive(self, now: float) -> None:
        """A request comes at `now`, s, to the prefill pool as one of one token, or is held."""
        pair, front = self.pair, self.front
        job, scope = front.take(now), pair.desk.deal(pair.decoders)
        if scope is None:
            front.held.append(job)
            return
        self.left[job.number] = job.left
        job.output = job.left = 1
        pair.desk.take(job, scope, now)

    def restore(self, job: Job) -> None:
        """Turn a request of the prefill pool into a whole one."""
        job.output, job.left = self.front.requests[job.number].output, self.left[job.number]

    def prefilled(self, at: int, now: float) -> None:
        """A step of a prefill replica ends at `now`, s."""
        replica = self.pair.prefill[at]
        homes = {job.number: rank for rank in replica.ranks for job in rank.running}
        for job in replica.end():
            self.restore(job)
            job.left -= 1
            if job.left:
                job.first = self.pair.told.get(job.number, -1.0)
                self.pair.keep(job, replica, homes[job.number], now)
                continue
            if job.output == 2 and job.second < 0 and job.number in self.pair.told:
                job.second = now
            self.end(job, now, at)
        self.pair.depart(self.pair.scope_of(self.pair.prefill, replica), now)

    def decoded(self, at: int, now: float) -> None:
        """A step of a decode replica ends at `now`, s."""
        replica = self.pair.decode[at]
        for job in replica.end():
            self.end(job, now, at)
        self.pair.depart(self.pair.scope_of(self.pair.decode, replica), now)

    def change(self, which: int, now: float) -> None:
        """Replicas of pool number `which` come or go at `now`, s."""
        pair, crew = self.pair, self.pair.crews[which]
        pool = (pair.prefill, pair.decode)[which]
        what, member = crew.change(now)
        if what == "failed" and member:
            for stage in member.stages:
                jobs = (pair.lose_prefill, pair.lose_decode)[which](stage, now)
                own = stage.lose(now)
                for job in own if which == 0 else []:
                    self.restore(job)
                self.front.lost([*jobs, *own], stage.rules, now)
        elif what == "open":
            self.front.let_in(now)
        elif what == "tick" and crew.scale:
            kind, rules = crew.scale.metric, pool[0].rules
            waiting = sum(map(len, pair.queues)) if kind == 0 else 0
            held = self.front.metric(kind) if which == 0 else float(waiting)
            crew.tick(now, held, rules.ranks * rules.blocks * len(crew.members[0].stages))
        if member:
            pair.depart(pair.scope_of(pool, member.stages[0]), now)


def simulate(
    prefill: Pool, decode: Pool, requests: Sequence[Request], start: float, pace: float, **rest: Any
) -> list[Result]:
    """Results of the requests that ended; start: s, pace: s/token, of a transfer; see `run`."""
    return sorted(run(prefill, decode, requests, start, pace, **rest).found)


def run(
    prefill: Pool,
    decode: Pool,
    requests: Sequence[Request],
    start: float,
    pace: float,
    until: float = inf,
    **rest: Any,
) -> Service:
    """Serve `requests` by two pools until `until`, s; start: s, pace: s/token, of a transfer.

    The rest is that of `Service`.
    """
    service = Service(prefill, decode, start, pace, **rest)
    service.front.arrivals.add(requests)
    service.front.inherit(heirs(prefill.rules, requests))
    service.run(until)
    return service
