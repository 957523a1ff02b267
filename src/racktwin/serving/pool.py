"""A pool of equal replicas under simulation: its state, which grows with need, and its readings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.batching import Draft
from racktwin.serving.clock import Clock
from racktwin.serving.crew import COUNTS, Crew
from racktwin.serving.fleet import BASE, RESULT, SLOT, STEP, SUMS, Floats, Ints, Known, Rules, state
from racktwin.serving.prefix_cache import ASKED, LEFT, MOST, OWED, grown, idle_units
from racktwin.serving.scheduling import ring_for
from racktwin.serving.standing import (
    DRAINS,
    FAILURES,
    OUT,
    STARTING,
    STARTS,
    STOPS,
    Standing,
    alive,
)

SLOTS = 1 << 15  # requests there is room for at first
READINGS = (*SUMS, *COUNTS, "outstanding", "waiting")


class Pool:
    """State, rules and clock of a role's replicas, and the array a step is drafted in.

    looked_at: steps (or stretches) of a bin that times between tokens are taken from.
    """

    looked_at = 256

    def __init__(
        self,
        replicas: int,
        rules: Rules,
        clock: Clock,
        slots: int = SLOTS,
        scopes: int = 1,
        crew: Crew | None = None,
    ) -> None:
        self.rules, self.clock, self.scopes = rules, clock, scopes
        self.crew = crew or Crew(replicas)
        self.state = state(replicas, rules, slots, scopes)
        self.crew.open(self.state)
        self.draft = Draft(*(np.zeros(rules.ranks) for _ in Draft._fields))

    @property
    def replicas(self) -> int:
        """Replicas, each pipeline stage counted as one."""
        return len(self.state.replicas)

    @property
    def stand(self) -> Standing:
        """Which replicas take requests."""
        return self.crew.stand

    @property
    def busy(self) -> bool:
        """Whether any replica steps, or is about to."""
        return bool(self.state.replicas["busy"].any())

    @property
    def alive(self) -> NDArray[np.bool_]:
        """By scope, whether any of its replicas takes requests, or will again."""
        return np.array([alive(self.stand, at, self.scopes) for at in range(self.scopes)])

    @property
    def returning(self) -> bool:
        """Whether a replica starts, for the first time or again."""
        each = self.stand.replicas
        back = (each["state"] == OUT) & np.isfinite(each["back"])
        return bool(back.any() or (each["state"] == STARTING).any())

    @property
    def turns(self) -> Ints:
        """By replica, its place in a round robin over the scopes and then inside each."""
        replica, size = np.arange(self.replicas), self.replicas // self.scopes
        turns: Ints = replica % size * self.scopes + replica // size
        return turns

    def grow(self) -> None:
        """Twice as many slots, when none is free; room for the results of all, and for prefixes."""
        self._grow_cache()
        old, left = self.state, int(self.state.counts[0])
        if left:
            return
        count = len(old.slots)
        more = np.arange(2 * count - 1, count - 1, -1, dtype=np.int64)
        self.state = old._replace(
            slots=np.concatenate([old.slots, np.zeros(count, SLOT)]),
            results=np.concatenate([old.results, np.zeros(2 * count, RESULT)]),
            free=np.concatenate([more, np.zeros(count, np.int64)]),
        )
        self.state.counts[0] = count

    def _grow_cache(self) -> None:
        """Twice as many entries in the prefix caches, when those left are too few."""
        cache = self.state.cache
        asked = int(cache.marks[OWED] + cache.marks[ASKED] - cache.marks[LEFT])
        if cache.marks[ASKED] and asked > 0:
            count = len(cache.entries)
            more = min(int(cache.marks[MOST]), max(2 * count, count + asked))
            self.state = self.state._replace(cache=grown(cache, more))
        cache.marks[ASKED] = 0

    def know(self, known: Known) -> None:
        """Prefixes of the requests in the window."""
        self.state = self.state._replace(known=known)

    def show(self, images: Floats) -> None:
        """What the images of the requests in the window cost: see `State.images`."""
        self.state = self.state._replace(images=images)

    def hold_ends(self, output: int) -> None:
        """Make the ring of ends long enough for answers of `output` tokens."""
        steps = ring_for(output, self.rules)
        old = self.state.ring
        if steps <= self.rules.ring:
            return
        ring = np.full((len(old), steps), -1, np.int32)
        replica, place = np.nonzero(old >= 0)
        first = old[replica, place]
        ring[replica, self.state.slots["ends"][first] & (steps - 1)] = first
        self.state = self.state._replace(ring=ring)
        self.rules = self.rules._replace(ring=steps)

    def take(self) -> NDArray[Any]:
        """The results since the last time, times in s; they stand until the loop goes on."""
        count = int(self.state.counts[1])
        self.state.counts[1] = 0
        return self.state.results[:count]

    def renumber(self, by: int) -> None:
        """The first `by` requests of the window are gone."""
        self.state.slots["number"] -= by
        self.state.counts[BASE] += by

    def watch(self, begin: float, end: float) -> None:
        """Log steps that overlap begin..end, s, as many as there is room for."""
        self.state.window[:] = begin, end
        self.state.logged[0] = 0

    def room_for_log(self, steps: int) -> None:
        """Keep up to `steps` logged steps or stretches."""
        self.state = self.state._replace(log=np.zeros(steps, STEP))

    @property
    def log(self) -> NDArray[Any]:
        """The steps logged since `watch`."""
        return self.state.log[: self.state.logged[0]]

    def feed(self, until: float) -> None:
        """Take the outages before `until`, s, into the calendar."""
        self.crew.feed(until)

    @property
    def sums(self) -> Floats:
        """`fleet.SUMS` so far: s, J, tokens, steps."""
        return self.state.sums

    @property
    def tally(self) -> dict[str, int]:
        """How often replicas failed and were drained, and autoscaling started and let go some."""
        marks = {"failures": FAILURES, "drains": DRAINS, "starts": STARTS, "stops": STOPS}
        return {name: int(self.stand.marks[mark]) for name, mark in marks.items()}

    def below(self) -> tuple[Ints, int]:
        """Units in host memory, by rank, and in the shared pool."""
        held, places = idle_units(self.state.cache), self.state.ranks.size
        return held[places : 2 * places], int(held[-1])

    def left(self) -> Iterator[str]:
        """What is still there, a sentence each, when all should have ended."""
        state = self.state
        if left := int(state.replicas["outstanding"].sum()):
            yield f"{left:,} requests are left"
        if state.counts[0] != len(state.slots):
            yield f"{len(state.slots) - state.counts[0]:,} slots are not free"
        if state.ranks["used"].any():
            yield f"{state.ranks['used'].sum():g} blocks are in use"

    def readings(self, time: float) -> Floats:
        """Sums so far and what is there at `time`, s, see `READINGS`; seconds in s, joules in J."""
        now = [self.state.replicas[name].sum() for name in ("outstanding", "waiting")]
        return np.concatenate([self.state.sums, self.crew.counts(time), np.asarray(now, float)])
