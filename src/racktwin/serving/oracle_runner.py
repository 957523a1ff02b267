"""The oracle as a runner: the plain-Python simulation in place of the compiled loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Protocol

import numpy as np

from racktwin.serving.fleet import IMAGE_COLUMNS, RESULT, Ints
from racktwin.serving.oracle import Front, Request, Result, Side
from racktwin.serving.oracle_pool import OraclePool
from racktwin.serving.outages import Outage
from racktwin.serving.runner import Sink
from racktwin.serving.window import Window

AHEAD = 1 << 16  # requests of a closed loop known beyond those let in
AT_ONCE = 1 << 12  # results after which more of a closed loop may be needed


class Service(Protocol):
    """A simulation by the oracle that can stop and go on: `oracle.Service` and that of a pair."""

    front: Front
    found: list[Result]
    sides: dict[str, Side]

    @property
    def between(self) -> int:
        """Requests in no pool."""

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests wait."""

    def run(self, until: float, results: float = inf) -> bool:
        """Go on to `until`, s; False when so many `results` (count) are there before."""


class OracleRunner:
    """Feeds the rows of a window to the oracle by their numbers; results go to a sink."""

    def __init__(
        self,
        service: Service,
        window: Window,
        sink: Sink,
        outages: Mapping[str, Iterator[Outage]],
    ) -> None:
        self.service, self.window, self.sink = service, window, sink
        self.pools = {
            role: OraclePool(side, side.replicas[0].rules, outages.get(role, ()))
            for role, side in service.sides.items()
        }

    @property
    def between(self) -> int:
        """Requests at the router, or on their way from one pool to another."""
        return self.service.between

    @property
    def stuck(self) -> bool:
        """Whether nothing can happen any more, but requests wait."""
        return self.service.stuck

    def moves(self, rows: Ints) -> Ints:
        """Failures that requests were on."""
        moves, base = self.service.front.moves, self.window.base
        return np.array([moves[base + row] for row in rows.tolist()], np.int64)

    def releasing_turns(self) -> OracleRunner:
        """It always does."""
        return self

    def add(self, rows: int) -> None:
        """Tell the oracle the last rows of the window, and who goes on with whose answer."""
        window, front = self.window, self.service.front
        first = len(window) - rows
        front.arrivals.add([_request(window, row) for row in range(first, len(window))])
        heir, base = window.prefixes.heir, window.base
        rows_with_heirs = np.flatnonzero(heir >= 0).tolist()
        front.inherit({base + row: _units(window, int(heir[row])) for row in rows_with_heirs})

    def drop(self, rows: int) -> None:
        """The oracle goes by numbers, which stay."""

    def hungry(self, until: float) -> bool:
        """Whether more of the stream is needed to go on to `until`, s."""
        arrivals = self.service.front.arrivals
        if arrivals.most is not None:
            return len(arrivals.later) < AHEAD + max(arrivals.most - arrivals.open, 0)
        return self.window.last < until

    def run(self, until: float) -> bool:
        """Go on to `until`, s; False when more of the stream is needed on the way."""
        while True:
            done = self.service.run(until, AT_ONCE)
            self._collect()
            if done or self.hungry(-inf):
                return done

    def _collect(self) -> None:
        """Hand results on, as the compiled loops would."""
        ended, requests = self.service.found, self.service.front.requests
        made = np.zeros(len(ended), RESULT)
        for name in Result._fields:
            made[name] = [getattr(each, name) for each in ended]
        made["output"] = [requests[each.number].output for each in ended]
        made["number"] -= self.window.base
        ended.clear()
        self.sink(made)


def _request(window: Window, row: int) -> Request:
    """A row of the window as the oracle takes it."""
    after = int(window.after[row])
    encoder = window.images[row] if len(window.images) else np.zeros(IMAGE_COLUMNS)
    return Request(
        arrival=float(window.arrival[row]),
        prompt=int(window.prompt[row]),
        output=int(window.output[row]),
        priority=int(window.priority[row]),
        after=window.base + after if after >= 0 else -1,
        pause=float(window.pause[row]),
        ids=tuple(_units(window, row)),
        images=(int(encoder[0]), float(encoder[1]), float(encoder[2])),
    )


def _units(window: Window, row: int) -> Sequence[int]:
    """Ids of the full units of a prompt."""
    if not window.prefixes.unit:
        return []
    units: list[int] = window.prefixes.rows.part(row, row + 1).values.tolist()
    return units
