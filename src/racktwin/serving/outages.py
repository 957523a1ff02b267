"""Outages: replicas that fail and replicas that are drained, in order of time."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A replica of a pool fails, or is drained, at `time`, s.

    length: s until it takes requests again, of a drained one from when it is empty; inf: never.
    stride: once it is back, and `pause` s later, so does the replica so many further on, below
    `end`; 0: none.
    """

    time: float
    role: str
    replica: int
    drain: bool = False
    length: float = math.inf
    stride: int = 0
    end: int = 0
    pause: float = 0.0

    @property
    def order(self) -> tuple[float, int, bool]:
        """Outages of a pool happen by time, s, and then by replica."""
        return self.time, self.replica, self.drain


class Recovery(NamedTuple):
    """What becomes of the requests of a replica that fails; detection: s until the router knows.

    migrate: what was told of an answer is kept, and computed again with the prompt; else it all
    begins anew.
    """

    migrate: bool = False
    detection: float = 0.0


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """Every replica of a pool fails at random, on average after `mtbf` s, for `repair` s."""

    role: str
    mtbf: float
    repair: float


class Outages(msgspec.Struct, frozen=True, kw_only=True):
    """All outages of a run, and what becomes of the requests of a replica that fails."""

    planned: tuple[Outage, ...] = ()
    random: tuple[Chance, ...] = ()
    recovery: Recovery = Recovery()
    seed: int = 0

    def of(self, role: str, replicas: int) -> Iterator[Outage]:
        """Those of a pool of so many replicas, in order of time; without end if any is random."""
        planned = sorted((each for each in self.planned if each.role == role), key=_order)
        drawn = [
            self._drawn(index, chance, replica)
            for index, chance in enumerate(self.random)
            if chance.role == role
            for replica in range(replicas)
        ]
        return heapq.merge(planned, *drawn, key=_order)

    def _drawn(self, index: int, chance: Chance, replica: int) -> Iterator[Outage]:
        """Failures of one replica: up for an exponential time, then out for the repair."""
        draw = np.random.default_rng([self.seed, index, replica])
        time = 0.0
        for _ in itertools.count():
            time += draw.exponential(chance.mtbf)
            yield Outage(time=time, role=chance.role, replica=replica, length=chance.repair)
            time += chance.repair


def _order(outage: Outage) -> tuple[float, int, bool]:
    return outage.order
