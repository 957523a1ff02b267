"""The oracle of replicas that come and go: failures, drains, autoscaling."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil, inf
from typing import NamedTuple

from racktwin.serving.oracle_replica import Replica
from racktwin.serving.outages import Outage
from racktwin.serving.scaling import Scaling


class Plan(NamedTuple):
    """What is to happen to a pool: `first` replicas of each of `parts` are there, of `stages` each.

    scaling: bounds and pace, of which the advice is not used; None: there is none.
    """

    outages: Sequence[Outage] = ()
    stages: int = 1
    parts: int = 1
    first: int | None = None
    scaling: Scaling | None = None


class Member:
    """A replica of one or more stages. since: s of the last change, back: s it is up again.

    status: up, draining, out (failed, or starting again), starting, off. leaving: by which order
    it is drained; due: when it is to be by which.
    """

    def __init__(self, stages: Sequence[Replica], status: str) -> None:
        self.stages, self.status, self.since, self.back = stages, "up", 0.0, inf
        self.leaving: Outage | None = None
        self.due: tuple[float, Outage] | None = None
        self.served = self.powered = 0.0
        self.become(status, 0.0)

    def become(self, status: str, now: float, back: float = inf) -> None:
        """Change at `now`, s; back: s it takes requests again."""
        passed = now - self.since
        self.served += passed if self.status == "up" else 0.0
        self.powered += passed if self.draws else 0.0
        self.status, self.since, self.back = status, now, back
        for stage in self.stages:
            stage.closed = status != "up"

    @property
    def draws(self) -> bool:
        """Whether it takes power: not when it is off or out for good."""
        return self.status != "off" and not (self.status == "out" and self.back == inf)

    @property
    def alive(self) -> bool:
        """Whether autoscaling counts on it."""
        if self.status == "draining":
            return self.leaving is not None
        return self.status in ("up", "starting") or (self.status == "out" and self.back < inf)

    def metric(self, kind: int) -> float:
        """Requests, blocks in use, or prompt tokens to compute."""
        each = {
            0: lambda stage: float(stage.outstanding),
            1: lambda stage: sum(rank.used() for rank in stage.ranks),
            2: lambda stage: float(stage.pending),
        }
        return sum(map(each[kind], self.stages), 0.0)


class Crew:
    """The replicas of a pool, of which each of `scopes` equal parts is scaled by itself."""

    def __init__(self, pool: Sequence[Replica], plan: Plan, scopes: int = 1) -> None:
        count = len(pool) // plan.stages
        size, first = count // plan.parts, plan.first
        self.members = [
            Member(
                pool[at * plan.stages : (at + 1) * plan.stages],
                "up" if first is None or at % size < first else "off",
            )
            for at in range(count)
        ]
        self.calls, self.scale, self.scopes = list(plan.outages), plan.scaling, scopes
        self.ticks = 0
        part = count // scopes
        self.parts = [self.members[at : at + part] for at in range(0, count, part)]
        self.advice = [[sum(each.status == "up" for each in part)] for part in self.parts]
        self.failures = self.drains = self.starts = self.stops = 0

    @property
    def alive(self) -> list[bool]:
        """By scope, whether any of its members takes requests, or will again."""
        return [any(self.comes(each) for each in part) for part in self.parts]

    def comes(self, member: Member) -> bool:
        """Whether one takes requests, or will again."""
        if member.status == "off":
            return self.scale is not None
        return member.status != "out" or member.back < inf

    def counts(self, time: float) -> tuple[float, float, int]:
        """At `time`, s: seconds that members took requests, and power; how many take requests."""
        served = powered = 0.0
        for each in self.members:
            lasted = max(time - each.since, 0.0)
            served += each.served + (lasted if each.status == "up" else 0.0)
            powered += each.powered + (lasted if each.draws else 0.0)
        return served, powered, sum(each.status == "up" for each in self.members)

    @property
    def next(self) -> float:
        """When the next change is, s."""
        backs = [each.back for each in self.members if each.status in ("out", "starting")]
        dues = [each.due[0] for each in self.members if each.due]
        calls = [self.calls[0].time] if self.calls else []
        return min([*backs, *dues, *calls, self.next_tick])

    @property
    def next_tick(self) -> float:
        """When autoscaling looks next, s."""
        return (self.ticks + 1) * self.scale.interval if self.scale else inf

    def change(self, now: float) -> tuple[str, Member | None]:
        """The first of the changes due at `now`, s: what it is, and whose."""
        for member in self.members:
            if member.status in ("out", "starting") and member.back <= now:
                member.become("up", now)
                self.followed(member, now)
                return "open", member
        for member in self.members:
            if member.due and member.due[0] <= now:
                order, member.due = member.due[1], None
                self.drain(member, order, now)
                return "drained", member
        if self.calls and self.calls[0].time <= now:
            call = self.calls.pop(0)
            member = self.members[call.replica]
            if call.drain:
                self.drain(member, call, now)
                return "drained", member
            return ("failed" if self.fail(member, call, now) else "nothing"), member
        return "tick", None

    def followed(self, member: Member, now: float) -> None:
        """A drained member is back at `now`, s, or gone: the next is due after the pause."""
        order, member.leaving = member.leaving, None
        if order:
            self.follow(member, order, now + order.pause)

    def follow(self, member: Member, order: Outage, time: float) -> None:
        """The next one of an order is due at `time`, s."""
        other = self.members.index(member) + order.stride
        if order.stride and other < order.end:
            self.members[other].due = (time, order)

    def drain(self, member: Member, order: Outage, now: float) -> None:
        """Take no more requests from `now`, s, on; one that takes none is passed over."""
        if member.status != "up":
            self.follow(member, order, now)
            return
        self.drains += 1
        member.leaving = order
        member.become("draining", now)

    def fail(self, member: Member, call: Outage, now: float) -> bool:
        """Fail at `now`, s, unless it is not there."""
        if member.status in ("out", "off"):
            return False
        self.failures += 1
        if member.status == "draining" and member.leaving is None:
            member.become("off", now)
            return True
        member.become("out", now, now + call.length)
        if call.length == inf:
            self.followed(member, now)
        return True

    def empty(self, member: Member, now: float) -> None:
        """A drained member has nothing left at `now`, s."""
        order = member.leaving
        if order is None:
            member.become("off", now)
        else:
            member.become("out", now, now + order.length)

    def leave(self, now: float, kept: Collection[Replica] = ()) -> None:
        """Drained members that are empty leave at `now`, s; kept: stages that others need still."""
        for member in self.members:
            if member.status == "draining" and not any(
                stage.outstanding or stage in kept for stage in member.stages
            ):
                self.empty(member, now)
                for stage in member.stages:
                    stage.clear(now)

    def tick(self, now: float, held: float, blocks: int) -> None:
        """Look at every part at `now`, s; held: of the metric, on none; blocks: of a member."""
        assert self.scale is not None
        self.ticks += 1
        for part, advice in zip(self.parts, self.advice, strict=True):
            up = [each for each in part if each.status == "up"]
            total = sum((each.metric(self.scale.metric) for each in up), 0.0)
            total = total / blocks if self.scale.metric == 1 else total + held / self.scopes
            current = sum(each.alive for each in part)
            wanted = self.wanted(advice, total, current)
            off = [each for each in part if each.status == "off"]
            for each in off[: max(wanted - current, 0)]:
                self.starts += 1
                each.become("starting", now, now + self.scale.start_up)
            new = [each for each in reversed(part) if each.status == "starting"]
            for each in [*new, *reversed(up)][: max(current - wanted, 0)]:
                self.stops += 1
                each.become("draining" if each.status == "up" else "off", now)

    def wanted(self, advice: list[int], total: float, current: int) -> int:
        """Replicas a part is to have; total: of the metric (any unit); advice: of earlier looks."""
        scale = self.scale
        assert scale is not None
        close = current > 0 and abs(total / (scale.target * current) - 1) <= scale.tolerance
        need = current if close else ceil(min(total / scale.target, scale.most))
        advice.append(need)
        keep = max(advice[-scale.advice.shape[1] :])
        if need > current:
            limit = max(ceil(current * scale.growth), current + scale.steps)
            return max(min(need, limit, scale.most), scale.least)
        return max(min(current, keep, scale.most), scale.least)
