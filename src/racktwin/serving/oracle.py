"""The oracle: an independent, slow and readable simulation of the same pool as the kernel's.

docs/background/scheduling.md is the specification of both. Requests are objects in lists, every
step is composed anew, and blocks are counted sequence by sequence.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle_cache import Tier
from racktwin.serving.oracle_crew import Crew, Plan
from racktwin.serving.oracle_rank import Job
from racktwin.serving.oracle_replica import Replica
from racktwin.serving.oracle_router import Desk
from racktwin.serving.outages import Recovery

Event = tuple[float, int, int]  # s, what happens, where; the smallest is next
# Steps end, replicas come and go, requests arrive, steps begin; at the same time in this order.
END, CHANGE, ARRIVE, BEGIN = range(4)


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
    cached_shared: of these tokens in host memory and in the shared pool. replica: it ended on.
    read: s that prompts added to the steps between its arrival and its first token.
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
    replica: int = 0
    read: float = 0.0


class Arrivals:
    """Requests to come in order of time: those of the stream, and those completions release.

    concurrency: so many are in flight or pause from the start on; when one ends and none waits for
    it, the next of the stream comes that waits for no other.
    """

    def __init__(self, concurrency: int | None) -> None:
        self.requests: list[Request] = []
        self.most, self.open = concurrency, 0
        self.ended: dict[int, float] = {}  # s, by number
        self.followers: dict[int, list[int]] = {}
        self.heap: list[tuple[float, bool, int]] = []
        self.later: deque[int] = deque()

    def add(self, requests: Sequence[Request]) -> None:
        """More of the stream is known; what a request waits for may have ended by now."""
        for number, request in enumerate(requests, len(self.requests)):
            self.requests.append(request)
            if request.after < 0 and self.most is None:
                heapq.heappush(self.heap, (request.arrival, True, number))
            elif request.after < 0:
                self.later.append(number)
            elif request.after in self.ended:
                earliest = request.arrival if self.most is None else 0.0
                self.come(number, max(earliest, self.ended[request.after] + request.pause))
            else:
                self.followers.setdefault(request.after, []).append(number)

    def first(self, event: int) -> list[Event]:
        """The next arrival as an `event`, if there is one."""
        return [(self.heap[0][0], event, 0)] if self.heap else []

    @property
    def released(self) -> bool:
        """Whether any comes that does not come by the stream's own time."""
        return any(not own for _, own, _ in self.heap)

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
        self.ended[number] = time
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


def heirs(rules: Rules, requests: Sequence[Request]) -> dict[int, Sequence[int]]:
    """By request the units of the first one after it that begins with its whole prompt."""
    found: dict[int, Sequence[int]] = {}
    for request in requests:
        if request.after >= 0 and request.after not in found:
            before, units = _units(rules, requests[request.after]), _units(rules, request)
            if units[: len(before)] == before:
                found[request.after] = units
    return found


def _units(rules: Rules, request: Request) -> tuple[int, ...]:
    """Full units of a prompt."""
    return request.ids[: request.prompt // rules.unit] if rules.unit else ()


def arriving(rules: Rules, request: Request, number: int, time: float) -> Job:
    """A request as a replica takes it, at `time`, s."""
    job = Job(number, time, request.prompt, request.output, request.priority)
    job.left = request.output
    job.ids, job.images = _units(rules, request), request.images
    return job


def result(job: Job, finish: float, replica: int) -> Result:
    """The result of a request that ended at `finish`, s, on the replica of that number."""
    times = (job.arrival, job.admitted, job.first, finish)
    tiers = (job.cached_host, job.cached_shared)
    found = Result(job.number, *times, job.losses, job.cached, job.second, *tiers, replica)
    return found._replace(read=job.read)


def moved(replicas: Sequence[Replica], pool: Tier) -> dict[str, float]:
    """Units loaded from the tiers and written to them (count)."""
    ranks = [rank for replica in replicas for rank in replica.ranks]
    return {
        "from_host": sum(rank.loaded[0] for rank in ranks),
        "from_shared": sum(rank.loaded[1] for rank in ranks),
        "to_host": sum(rank.host.written for rank in ranks),
        "to_shared": pool.written,
    }


class Front:
    """The router's memory: requests that no replica takes, and those that come again.

    rules: of the replicas they are sent to. moves: failures that each request was on (count).
    """

    def __init__(self, rules: Rules, arrivals: Arrivals, recovery: Recovery) -> None:
        self.rules, self.arrivals, self.recovery = rules, arrivals, recovery
        self.requests = arrivals.requests
        self.answers: defaultdict[int, list[int]] = defaultdict(list)
        self.moves: Counter[int] = Counter()
        self.known: dict[int, Job] = {}
        self.held: list[Job] = []

    def inherit(self, heirs: Mapping[int, Sequence[int]]) -> None:
        """By request, the units of its prompt and answer: those of the one that goes on with it."""
        for number, units in heirs.items():
            if not self.answers[number]:
                self.answers[number].extend(units)

    def take(self, now: float) -> Job:
        """The request that comes next, at `now`, s."""
        number = self.arrivals.take()
        if number in self.known:
            return self.known.pop(number)
        job = arriving(self.rules, self.requests[number], number, now)
        job.answer = self.answers[number]
        return job

    def send_back(self, job: Job, time: float) -> None:
        """A request comes again at `time`, s."""
        self.known[job.number] = job
        heapq.heappush(self.arrivals.heap, (time, False, job.number))

    def lost(self, jobs: Sequence[Job], rules: Rules, now: float) -> None:
        """Requests were on a replica with these rules that failed at `now`, s."""
        for job in jobs:
            self.moves[job.number] += 1
            asked = self.requests[job.number]
            job.begin_again(rules, asked.prompt, asked.output, migrate=self.recovery.migrate)
            self.send_back(job, now + self.recovery.detection)

    def let_in(self, now: float) -> None:
        """A replica takes requests again at `now`, s."""
        for job in self.held:
            self.send_back(job, now)
        self.held = []

    def metric(self, kind: int) -> float:
        """What autoscaling sees of those held: requests, nothing, prompt tokens."""
        return float([len(self.held), 0, sum(job.prompt for job in self.held)][kind])


class Side(NamedTuple):
    """A pool: its replicas, who of them is there, the tier they share."""

    replicas: list[Replica]
    crew: Crew
    shared: Tier

    @property
    def sums(self) -> dict[str, float]:
        """Sums by name (s, J, tokens, steps)."""
        totals = [each.totals for each in self.replicas]
        sums = {name: sum(each[name] for each in totals) for name in SUMS}
        return sums | moved(self.replicas, self.shared)


class Service:
    """One pool of replicas under simulation, which can stop and go on.

    scopes: equal parts of the replicas, each with a router of its own. plan: what happens to them.
    """

    def __init__(
        self,
        rules: Rules,
        clock: Clock,
        replicas: int = 1,
        router: str = "round_robin",
        concurrency: int | None = None,
        scopes: int = 1,
        plan: Plan | None = None,
        recovery: Recovery | None = None,
    ) -> None:
        shared = Tier(rules.shared)
        self.pool = [Replica(rules, clock, shared) for _ in range(replicas)]
        self.desk, self.crew = (
            Desk(self.pool, router, scopes),
            Crew(self.pool, plan or Plan(), scopes),
        )
        self.front = Front(rules, Arrivals(concurrency), recovery or Recovery())
        self.found: list[Result] = []
        self.blocks = rules.ranks * rules.blocks * len(self.crew.members[0].stages)
        self.sides = {"serve": Side(self.pool, self.crew, shared)}

    @property
    def between(self) -> int:
        """Requests at the router."""
        return len(self.front.held) + len(self.front.known)

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests wait for a replica."""
        busy = any(each.busy for each in self.pool) or self.front.arrivals.released
        return bool(self.front.held) and not busy and not any(self.crew.alive)

    def run(self, until: float, results: float = inf) -> bool:
        """Go on to `until`, s; False when so many `results` (count) are there before."""
        arrivals, front, crew = self.front.arrivals, self.front, self.crew
        arrivals.fill(0.0)
        while len(self.found) < results:
            work = [*steps(self.pool, END, BEGIN), *arrivals.first(ARRIVE)]
            now, event, at = min([*work, (crew.next, CHANGE, 0)])
            if now >= until or not (work or front.held or until < inf):
                return True
            if event == END:
                for job in self.pool[at].end():
                    arrivals.release(job.number, now, job.arrival)
                    self.found.append(result(job, now, at))
            elif event == BEGIN:
                self.pool[at].begin()
            elif event == CHANGE:
                change(crew, front, now, self.blocks)
            else:
                self.arrive(now)
            crew.leave(now)
        return False

    def arrive(self, now: float) -> None:
        """A request comes at `now`, s, to a replica, or is held."""
        job, scope = self.front.take(now), self.desk.deal()
        if scope is None:
            self.front.held.append(job)
        else:
            self.desk.take(job, scope, now)


class Outcome(NamedTuple):
    """What came of a run: results, sums by name (s, J, tokens, steps), the replicas at the end."""

    results: list[Result]
    sums: dict[str, float]
    crew: Crew


def simulate(
    rules: Rules, clock: Clock, requests: Sequence[Request], *more: Any, **rest: Any
) -> tuple[list[Result], dict[str, float]]:
    """Results of the requests that ended, and the sums; see `run`."""
    found = run(rules, clock, requests, *more, **rest)
    return found.results, found.sums


def run(
    rules: Rules,
    clock: Clock,
    requests: Sequence[Request],
    *more: Any,
    until: float = inf,
    **rest: Any,
) -> Outcome:
    """Serve `requests`, in order of arrival, until `until`, s; one result for each that ended.

    The rest is that of `Service`.
    """
    service = Service(rules, clock, *more, **rest)
    service.front.arrivals.add(requests)
    service.front.inherit(heirs(rules, requests))
    service.run(until)
    return Outcome(sorted(service.found), service.sides["serve"].sums, service.crew)


def change(crew: Crew, front: Front, now: float, blocks: int) -> None:
    """Replicas come or go at `now`, s."""
    what, member = crew.change(now)
    if what == "open":
        front.let_in(now)
    elif what == "failed" and member:
        for stage in member.stages:
            front.lost(stage.lose(now), stage.rules, now)
    elif what == "tick" and crew.scale:
        crew.tick(now, front.metric(crew.scale.metric), blocks)
