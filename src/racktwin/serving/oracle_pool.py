"""A pool of the oracle as a simulation reads it: the twin of `pool.Pool`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.fleet import STEP, SUMS, Floats, Ints, Rules
from racktwin.serving.oracle import Side
from racktwin.serving.outages import Outage


class OraclePool:
    """Replicas of the oracle, and what is to happen to them; outages: in order of time.

    looked_at: steps of a bin that times between tokens are taken from: all of them.
    """

    looked_at = 1 << 62

    def __init__(self, side: Side, rules: Rules, outages: Iterable[Outage] = ()) -> None:
        self.side, self.rules = side, rules
        self.outages: Iterator[Outage] = iter(outages)
        self.coming: Outage | None = next(self.outages, None)

    @property
    def replicas(self) -> int:
        """Replicas, each pipeline stage counted as one."""
        return len(self.side.replicas)

    @property
    def returning(self) -> bool:
        """Whether a replica starts, for the first time or again."""
        members = self.side.crew.members
        return any(each.status in ("out", "starting") and each.back < inf for each in members)

    def hold_ends(self, output: int) -> None:
        """Answers may have any length, tokens."""

    def feed(self, until: float) -> None:
        """Take the outages before `until`, s, into the calendar."""
        while self.coming is not None and self.coming.time < until:
            self.side.crew.calls.append(self.coming)
            self.coming = next(self.outages, None)

    def watch(self, begin: float, end: float) -> None:
        """Forget the steps that ended before; those that end from `begin` to `end`, s, are kept."""
        for replica in self.side.replicas:
            replica.ended.clear()

    @property
    def log(self) -> NDArray[Any]:
        """The steps that ended since `watch`, in order of their ends."""
        rows = [
            (*step[:3], number, step.steps, step.batch, step.usual)
            for number, replica in enumerate(self.side.replicas)
            for step in replica.ended
        ]
        made = np.array(rows, STEP)
        return made[np.argsort(made["end"], kind="stable")]

    @property
    def sums(self) -> Floats:
        """`fleet.SUMS` so far: s, J, tokens, steps."""
        found = self.side.sums
        return np.array([found[name] for name in SUMS], float)

    @property
    def tally(self) -> dict[str, int]:
        """How often replicas came and went, see `crew.TALLY`."""
        crew = self.side.crew
        return {name: getattr(crew, name) for name in ("failures", "drains", "starts", "stops")}

    def readings(self, time: float) -> Floats:
        """Sums so far and what is there at `time`, s, see `pool.READINGS`."""
        replicas = self.side.replicas
        outstanding = sum(each.outstanding for each in replicas)
        waiting = sum(len(rank.waiting) for each in replicas for rank in each.ranks)
        return np.array([*self.sums, *self.side.crew.counts(time), outstanding, waiting], float)

    def below(self) -> tuple[Ints, int]:
        """Units in host memory, by rank, and in the shared pool."""
        ranks = [rank for each in self.side.replicas for rank in each.ranks]
        return np.array([len(rank.host.units) for rank in ranks]), len(self.side.shared.units)

    def left(self) -> Iterator[str]:
        """What is still there, a sentence each, when all should have ended."""
        ranks = [rank for each in self.side.replicas for rank in each.ranks]
        if left := sum(rank.requests for rank in ranks):
            yield f"{left:,} requests are left"
        if used := sum(rank.used() for rank in ranks):
            yield f"{used:g} blocks are in use"
