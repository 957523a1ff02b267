"""Runners: how a window of requests is put through compiled loops, up to a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.fleet import EACH, NEXT, SCOPES, TURN, Floats, Ints, Rules
from racktwin.serving.flow import AGAIN, AWAY, HEAP, HELD, OPEN, SEEN, SIZE, STREAM, Flow, push
from racktwin.serving.kernel import run_round_robin
from racktwin.serving.lag import Lag
from racktwin.serving.outages import Recovery
from racktwin.serving.pool import Pool
from racktwin.serving.routed import run_routed
from racktwin.serving.router import ROUTERS
from racktwin.serving.window import Window

Sink = Callable[[NDArray[Any]], None]
NOBODY = np.int64(-1)


class Pooled(Protocol):
    """A pool as a simulation reads it: see `pool.Pool`."""

    rules: Rules
    looked_at: int

    @property
    def replicas(self) -> int:
        """Replicas, each pipeline stage counted as one."""

    @property
    def returning(self) -> bool:
        """Whether a replica starts, for the first time or again."""

    @property
    def log(self) -> NDArray[Any]:
        """The steps logged since `watch`."""

    @property
    def sums(self) -> Floats:
        """`fleet.SUMS` so far: s, J, tokens, steps."""

    @property
    def tally(self) -> dict[str, int]:
        """How often replicas came and went."""

    def hold_ends(self, output: int) -> None:
        """Be ready for answers of `output` tokens."""

    def feed(self, until: float) -> None:
        """Take the outages before `until`, s, into the calendar."""

    def watch(self, begin: float, end: float) -> None:
        """Log steps that overlap begin..end, s."""

    def readings(self, time: float) -> Floats:
        """Sums so far and what is there at `time`, s, see `pool.READINGS`."""

    def below(self) -> tuple[Ints, int]:
        """Units in host memory, by rank, and in the shared pool."""

    def left(self) -> Iterator[str]:
        """What is still there, a sentence each, when all should have ended."""


class Runner(Protocol):
    """Puts requests through pools.

    Results go to a sink.
    """

    @property
    def pools(self) -> Mapping[str, Pooled]:
        """By role."""

    @property
    def between(self) -> int:
        """Requests at the router, or on their way from one pool to another."""

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests wait."""

    def moves(self, rows: Ints) -> Ints:
        """Failures that requests were on."""

    def releasing_turns(self) -> Runner:
        """The runner to go on with now that completions let requests in."""

    def add(self, rows: int) -> None:
        """The window has so many more rows."""

    def drop(self, rows: int) -> None:
        """And so many less at its front."""

    def hungry(self, until: float) -> bool:
        """More of the stream is needed to go on to `until`, s."""

    def run(self, until: float) -> bool:
        """Go on to `until`, s; False when more of the stream is needed on the way."""


class RoundRobin:
    """Open load in turn over the replicas, which then never meet: the fastest loop."""

    def __init__(self, pool: Pool, window: Window, sink: Sink) -> None:
        self.pools, self.window, self.sink = {"serve": pool}, window, sink
        self.next = 0  # row of the window that comes next

    between, stuck = 0, False

    def moves(self, rows: Ints) -> Ints:
        """None: no replica fails here."""
        return np.zeros(len(rows), np.int64)

    def releasing_turns(self) -> Runner:
        """Replicas meet from now on."""
        pool = self.pools["serve"]
        runner = Routed(pool, self.window, self.sink, ROUTERS.index("round_robin"))
        runner.add(len(self.window))
        runner.released.marks[STREAM] = self.next
        dealt, scopes = self.window.base + self.next, pool.scopes
        own = (dealt - np.arange(scopes) + scopes - 1) // scopes  # requests each scope had
        pool.state.counts[TURN] = dealt % scopes
        pool.state.counts[SCOPES + NEXT :: EACH] = own % (pool.replicas // scopes)
        return runner.releasing_turns()

    def add(self, rows: int) -> None:
        """Nothing to note."""

    def drop(self, rows: int) -> None:
        """Rows left the front of the window."""
        self.next -= rows
        self.pools["serve"].renumber(rows)

    def hungry(self, until: float) -> bool:
        """Whether requests before `until`, s, may be missing."""
        return self.window.last < until

    def run(self, until: float) -> bool:
        """Feed what arrives before `until`, s, and do the steps that start before."""
        window, pool = self.window, self.pools["serve"]
        end = int(np.searchsorted(window.arrival, until))
        rows = slice(self.next, end)
        turn = window.base + self.next
        begin = (pool.turns - turn) % pool.replicas
        pool.know(window.prefixes.known)
        pool.show(window.images)
        done = False
        while not done:
            done = run_round_robin(
                pool.state,
                pool.rules,
                pool.clock,
                pool.draft,
                window.arrival[rows],
                window.prompt[rows],
                window.output[rows],
                window.priority[rows],
                self.next,
                begin,
                until,
            )
            self.sink(pool.take())
            if not done:
                pool.grow()
        self.next = end
        return True


class Released:
    """The requests of a flow: links to those a completion releases, and a heap of those let in.

    recovery: None where no replica can fail or be closed.
    """

    def __init__(self, window: Window, concurrency: int, recovery: Recovery | None = None) -> None:
        self.window, self.closed, self.starting = window, concurrency, concurrency > 0
        self.tracked, self.recovery = recovery is not None, recovery or Recovery()
        self.again, self.held = np.zeros(0, AGAIN), np.zeros(0, np.int64)
        self.successor = self.sibling = np.empty(0, np.int64)
        self.heap = np.zeros(1, HEAP)
        self.marks = np.zeros(6, np.int64)

    def add(self, rows: int) -> None:
        """Link the last `rows` rows of the window to what they wait for."""
        window, start = self.window, len(self.window) - rows
        more = np.full(rows, NOBODY)
        self.successor = np.concatenate([self.successor, more])
        self.sibling = np.concatenate([self.sibling, more])
        room = len(window) + 1 - len(self.heap)
        if room > 0:
            self.heap = np.concatenate([self.heap, np.zeros(room, HEAP)])
        if self.tracked:
            known = np.zeros(rows, AGAIN)
            known["prompt"], known["left"] = window.prompt[start:], window.output[start:]
            for name in ("arrival", "admitted", "first", "second"):
                known[name] = -1.0
            self.again = np.concatenate([self.again, known])
            self.held = np.concatenate([self.held, np.zeros(rows, np.int64)])
        for row in start + np.flatnonzero(window.pause[start:] >= 0):
            before = window.after[row]
            if before >= 0 and np.isnan(window.finish[before]):
                self.sibling[row] = self.successor[before]
                self.successor[before] = row
            else:
                ended = window.finish[before] if before >= 0 else -np.inf
                earliest = 0.0 if self.closed else window.arrival[row]
                self.let_in(max(earliest, ended + window.pause[row]), int(row))

    def let_in(self, time: float, row: int) -> None:
        """Release a request at `time`, s."""
        push(self.heap, self.marks[SIZE], float(time), row)
        self.marks[SIZE] += 1
        self.marks[OPEN] += 1

    def drop(self, rows: int) -> None:
        """Rows left the front of the window."""
        self.marks[STREAM] -= rows
        self.heap["number"] -= rows
        for links in (self.successor, self.sibling):
            links[links >= 0] -= rows
        self.successor, self.sibling = self.successor[rows:], self.sibling[rows:]
        if self.tracked:
            self.again = self.again[rows:].copy()
            self.held[: self.marks[HELD]] -= rows

    def start(self) -> None:
        """Let the first requests of a closed loop in at 0 s."""
        if not self.starting:
            return
        for row in np.flatnonzero(self.window.pause < 0)[: self.closed].tolist():
            self.let_in(0.0, row)
            self.marks[STREAM] = row + 1
        self.starting = False

    @property
    def flow(self) -> Flow:
        """As the compiled loops take it."""
        window = self.window
        return Flow(
            window.arrival,
            window.prompt,
            window.output,
            window.priority,
            self.successor,
            self.sibling,
            window.pause,
            self.heap,
            self.marks,
            self.closed,
            self.again,
            self.held,
            *self.recovery,
        )

    @property
    def at_router(self) -> int:
        """Requests that wait for a replica, or for the router to know that theirs is gone."""
        return int(self.marks[HELD] + self.marks[AWAY])

    def moves(self, rows: Ints) -> Ints:
        """Failures that requests were on."""
        found = self.again["moves"][rows] if self.tracked else np.zeros(len(rows), np.int64)
        return np.asarray(found)

    def hungry(self, until: float, results: int) -> bool:
        """Whether rows that may be asked for before `until`, s, are missing.

        A closed loop may ask for one that waits for no other per result there is room for.
        """
        if self.closed:
            left = int(np.count_nonzero(self.window.pause[self.marks[STREAM] :] < 0))
            return left < results + self.closed * self.starting
        return self.window.last < until


class Routed:
    """A router over one pool, closed loops and sessions: arrivals and replicas meet in time."""

    def __init__(
        self,
        pool: Pool,
        window: Window,
        sink: Sink,
        policy: int,
        concurrency: int = 0,
        recovery: Recovery | None = None,
    ) -> None:
        self.pools, self.window, self.sink = {"serve": pool}, window, sink
        self.policy = policy
        self.lag = Lag(np.zeros(pool.replicas), np.zeros(pool.replicas))
        self.releasing = concurrency > 0 or pool.rules.shared > 0  # replicas meet in the pool
        self.released = Released(window, concurrency, recovery)

    @property
    def between(self) -> int:
        """Requests at the router."""
        return self.released.at_router

    def moves(self, rows: Ints) -> Ints:
        """Failures that requests were on."""
        return self.released.moves(rows)

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests wait for a replica."""
        pool, waits = self.pools["serve"], self.released.marks
        return bool(waits[HELD]) and not (waits[SIZE] or pool.busy or pool.alive.any())

    def releasing_turns(self) -> Runner:
        """Go step by step in the order of time from now on."""
        self.releasing = True
        return self

    def add(self, rows: int) -> None:
        """Take note of new rows."""
        self.released.add(rows)

    def drop(self, rows: int) -> None:
        """Rows left the front of the window."""
        self.released.drop(rows)
        self.pools["serve"].renumber(rows)

    def hungry(self, until: float) -> bool:
        """Whether more of the stream is needed to go on to `until`, s."""
        return self.released.hungry(until, len(self.pools["serve"].state.results))

    def run(self, until: float) -> bool:
        """Go on to `until`, s; False when more of the stream is needed on the way."""
        pool = self.pools["serve"]
        pool.know(self.window.prefixes.known)
        pool.show(self.window.images)
        self.released.start()
        while True:
            done = run_routed(
                pool.state,
                pool.rules,
                pool.clock,
                pool.draft,
                self.released.flow,
                pool.stand,
                self.policy,
                self.releasing,
                until,
                self.lag,
            )
            self.sink(pool.take())
            self.released.marks[SEEN] = 0
            if done:
                return True
            pool.grow()
            if self.hungry(-np.inf):
                return False
