"""The routers as the oracle sees them: plain functions of the replicas that take requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from racktwin.serving.oracle_rank import Job
from racktwin.serving.oracle_replica import Replica

Router = Callable[[Sequence[Replica], Job], int]


def _mixed(value: int) -> int:
    """The finaliser of splitmix64."""
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def _least(load: Callable[[Replica], float]) -> Router:
    return lambda pool, job: min(range(len(pool)), key=lambda at: load(pool[at]))


def _power_of_two(pool: Sequence[Replica], job: Job) -> int:
    one, other = _mixed(job.number) % len(pool), (_mixed(job.number) >> 32) % len(pool)
    return min((one, other), key=lambda at: pool[at].outstanding)


def _prefix_aware(pool: Sequence[Replica], job: Job) -> int:
    return min(range(len(pool)), key=lambda at: (-pool[at].longest(job, 1), pool[at].outstanding))


def _kv_aware(pool: Sequence[Replica], job: Job) -> int:
    def tokens(replica: Replica) -> float:
        mean = (replica.context + replica.pending) / replica.rules.ranks
        return mean - replica.longest(job, replica.rules.credit) * replica.rules.unit

    return min(range(len(pool)), key=lambda at: tokens(pool[at]))


# replicas that take requests, the request -> index of the one it goes to; round robin has a memory
ROUTERS: dict[str, Router] = {
    "round_robin": lambda pool, job: 0,
    "least_outstanding": _least(lambda replica: replica.outstanding),
    "least_kv": _least(lambda replica: replica.context + replica.pending),
    "power_of_two": _power_of_two,
    "input_balanced": _least(lambda replica: replica.pending),
    "prefix_aware": _prefix_aware,
    "kv_aware": _kv_aware,
}


def credit(replica: Replica, router: str) -> float | None:
    """What a unit in host memory counts to a router, 1; None where prefixes do not."""
    return {"prefix_aware": 1.0, "kv_aware": replica.rules.credit}.get(router)


class Desk:
    """A router over each of `scopes` equal parts of a pool; requests are dealt to them in turn."""

    def __init__(self, pool: Sequence[Replica], router: str, scopes: int = 1) -> None:
        size = len(pool) // scopes
        self.parts = [pool[begin : begin + size] for begin in range(0, len(pool), size)]
        self.router, self.turn, self.after = router, 0, [0] * scopes

    def deal(self, *others: Desk) -> int | None:
        """The scope whose turn it is, of those where every pool has a replica that is open."""
        for ahead in range(len(self.parts)):
            scope = (self.turn + ahead) % len(self.parts)
            if all(desk.open(scope) for desk in (self, *others)):
                self.turn = (scope + 1) % len(self.parts)
                return scope
        return None

    def open(self, scope: int) -> list[int]:
        """Places of those that take requests; of a round robin from the one whose turn it is on."""
        after, part = self.after[scope], self.parts[scope]
        if self.router != "round_robin":
            after = 0
        order = [(after + ahead) % len(part) for ahead in range(len(part))]
        return [at for at in order if not part[at].closed]

    def choose(self, job: Job, scope: int) -> Replica | None:
        """The replica of a scope that a request goes to; None when none takes any."""
        part, places = self.parts[scope], self.open(scope)
        if not places:
            return None
        at = places[ROUTERS[self.router]([part[at] for at in places], job)]
        self.after[scope] = (at + 1) % len(part)
        return part[at]

    def take(self, job: Job, scope: int, time: float) -> None:
        """Send a request to a replica of a scope, which there is, at `time`, s."""
        chosen = self.choose(job, scope)
        assert chosen is not None
        chosen.take(job, time, credit(chosen, self.router))
