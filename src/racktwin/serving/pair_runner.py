"""The runner of separate prefill and decode pools, and the caches between them."""

from __future__ import annotations

import numpy as np

from racktwin.serving.disaggregation import run_disaggregated
from racktwin.serving.fleet import Ints
from racktwin.serving.flow import HEAP, HELD, SIZE
from racktwin.serving.handover import (
    CACHE,
    DECODED,
    FLYING,
    HEAD,
    MARKS,
    PREFILLED,
    SPARE,
    WAITING,
    Handover,
    Side,
)
from racktwin.serving.outages import Recovery
from racktwin.serving.pool import Pool
from racktwin.serving.router import ROUTERS
from racktwin.serving.runner import Released, Sink
from racktwin.serving.window import Window

DECODE_ROUTER = "least_outstanding"
FOR_DECODE = ROUTERS.index(DECODE_ROUTER)


class Pair:
    """Prefill and decode pools under any load."""

    def __init__(
        self,
        pools: dict[str, Pool],
        window: Window,
        sink: Sink,
        *,
        policy: int,
        concurrency: int,
        start: float,
        pace: float,
        recovery: Recovery | None = None,
    ) -> None:
        self.pools, self.window, self.sink, self.policy = pools, window, sink, policy
        self.released = Released(window, concurrency, recovery)
        decode, prefill = pools["decode"], pools["prefill"]
        slots = len(decode.state.slots)
        self.hand = Handover(
            queue=np.zeros(0, CACHE),
            spare=np.zeros(0, np.int64),
            lines=np.full((decode.scopes, 2), -1),
            kept=np.zeros(prefill.replicas, np.int64),
            moving=np.zeros(slots, CACHE),
            heap=np.zeros(slots + 1, HEAP),
            port=np.zeros(prefill.replicas),
            landing=np.zeros((decode.replicas, decode.rules.ranks), np.int64),
            marks=np.zeros(MARKS, np.int64),
            due=np.zeros(1),
            start=start,
            pace=pace,
        )

    @property
    def between(self) -> int:
        """Requests at the router, and caches that wait to leave the prefill pool."""
        return int(self.hand.marks[WAITING]) + self.released.at_router

    def moves(self, rows: Ints) -> Ints:
        """Failures that requests were on."""
        return self.released.moves(rows)

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests or caches wait for a replica."""
        prefill, decode = self.pools["prefill"], self.pools["decode"]
        under_way = self.hand.marks[FLYING] or self.released.marks[SIZE]
        if under_way or prefill.busy or decode.busy:
            return False
        lines = self.hand.lines[:, HEAD] >= 0
        held = self.released.marks[HELD] and (prefill.alive & decode.alive).any()
        waits = self.released.marks[HELD] or lines.any()
        return bool(waits and not held and not (lines & decode.alive).any())

    def releasing_turns(self) -> Pair:
        """It always does."""
        return self

    def add(self, rows: int) -> None:
        """Take note of new rows."""
        self.released.add(rows)

    def drop(self, rows: int) -> None:
        """Rows left the front of the window."""
        self.released.drop(rows)
        self.hand.queue["number"] -= rows
        self.hand.moving["number"] -= rows
        for pool in self.pools.values():
            pool.renumber(rows)

    def hungry(self, until: float) -> bool:
        """Whether more of the stream is needed to go on to `until`, s."""
        results = sum(len(pool.state.results) for pool in self.pools.values())
        return self.released.hungry(until, results)

    def run(self, until: float) -> bool:
        """Go on to `until`, s; False when more of the stream is needed on the way."""
        self.released.start()
        prefill, decode = self.pools["prefill"], self.pools["decode"]
        prefill.know(self.window.prefixes.known)
        prefill.show(self.window.images)
        decode.show(self.window.images)
        while True:
            self._make_room()
            done = run_disaggregated(
                _side(prefill, self.policy),
                _side(decode, FOR_DECODE),
                self.hand,
                self.released.flow,
                until,
            )
            prompts = prefill.take()
            self.sink(prompts[prompts["output"] > 0])
            self.sink(decode.take())
            self.hand.marks[[PREFILLED, DECODED]] = 0
            if done:
                return True
            for pool in (prefill, decode):
                pool.grow()
            if self.hungry(-np.inf):
                return False

    def _make_room(self) -> None:
        """Room for a cache of every decode slot, and of every prompt until results are taken."""
        hand, slots = self.hand, len(self.pools["decode"].state.slots)
        more = slots - len(hand.moving)
        if more > 0:
            hand = hand._replace(
                moving=np.concatenate([hand.moving, np.zeros(more, CACHE)]),
                heap=np.concatenate([hand.heap, np.zeros(more, HEAP)]),
            )
        spare, places = int(hand.marks[SPARE]), len(hand.queue)
        needed = len(self.pools["prefill"].state.results)
        if spare < needed:
            more = max(needed, places)
            added = np.arange(places + more - 1, places - 1, -1)
            rest = np.zeros(places - spare, np.int64)
            hand = hand._replace(
                queue=np.concatenate([hand.queue, np.zeros(more, CACHE)]),
                spare=np.concatenate([hand.spare[:spare], added, rest]),
            )
            hand.marks[SPARE] = spare + more
        self.hand = hand


def _side(pool: Pool, policy: int) -> Side:
    return Side(pool.state, pool.rules, pool.clock, pool.draft, policy, pool.stand)
