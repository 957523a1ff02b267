"""The replicas of a pool as they come and go: who is there at first, and what is to happen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from racktwin.serving.fleet import EACH, OPEN, SCOPES, Floats, State
from racktwin.serving.outages import Outage
from racktwin.serving.scaling import Scaling
from racktwin.serving.standing import (
    CALL,
    CALLS,
    DRAINING,
    OFF,
    ORDER,
    OUT,
    POWERED,
    SERVED,
    STARTING,
    UP,
    plan_next,
    standing,
)

FAIL = -1  # order of a call to fail
COUNTS = ("served_seconds", "powered_seconds", "up")


class Crew:
    """Replicas, each of `stages` of the kernel's; of each of `parts` equal ones `first` are there.

    outages: in order of time.
    """

    def __init__(
        self,
        replicas: int,
        *,
        stages: int = 1,
        parts: int = 1,
        first: int | None = None,
        scaling: Scaling | None = None,
        outages: Iterable[Outage] = (),
    ) -> None:
        count = replicas // stages
        self.stand = standing(count, stages, scaling)
        self.outages: Iterator[Outage] = iter(outages)
        self.coming: Outage | None = next(self.outages, None)
        self.orders: dict[tuple[float, float, int, int], int] = {}
        size = count // parts
        off = np.arange(count) % size >= (size if first is None else first)
        self.stand.replicas["state"][off] = OFF
        self.feed(-math.inf)

    def open(self, state: State) -> None:
        """Tell the kernel who takes requests at first."""
        up = np.repeat(self.stand.replicas["state"] == UP, self.stand.stages)
        state.replicas["closed"] = ~up
        scopes = (len(state.counts) - SCOPES) // EACH
        opened = up.reshape(scopes, -1).sum(axis=1)
        state.counts[SCOPES + OPEN :: EACH] = opened
        if self.stand.scaling.interval < math.inf:
            self.stand.scaling.advice[:] = 0
            self.stand.scaling.advice[:, 0] = opened // self.stand.stages

    def feed(self, until: float) -> None:
        """Take the outages before `until`, s, into the calendar."""
        rows = []
        while self.coming is not None and self.coming.time < until:
            rows.append(self._call(self.coming))
            self.coming = next(self.outages, None)
        if rows or len(self.stand.calls):
            left = self.stand.calls[self.stand.marks[CALLS] :]
            self.stand.marks[CALLS] = 0
            calls = np.concatenate([left, np.array(rows, CALL)])
            self.stand = self.stand._replace(calls=calls)
        plan_next(self.stand)

    def _call(self, outage: Outage) -> tuple[float, float, int, int]:
        order = FAIL
        if outage.drain:
            wish = (outage.length, outage.pause, outage.stride, outage.end)
            order = self.orders.setdefault(wish, len(self.orders))
            if order == len(self.stand.orders):
                orders = np.concatenate([self.stand.orders, np.array([wish], ORDER)])
                self.stand = self.stand._replace(orders=orders)
        return outage.time, outage.length, outage.replica, order

    def counts(self, time: float) -> Floats:
        """`COUNTS` at `time`, s: replica seconds so far, and replicas that take requests."""
        each = self.stand.replicas
        lasted = np.maximum(time - each["since"], 0.0)
        up = each["state"] == UP
        powered = up | (each["state"] == DRAINING) | (each["state"] == STARTING)
        powered |= (each["state"] == OUT) & np.isfinite(each["back"])
        served, drew = self.stand.times[SERVED], self.stand.times[POWERED]
        found = [served + lasted[up].sum(), drew + lasted[powered].sum(), up.sum()]
        return np.array(found, float)
