"""Mingling: independent streams of requests become one, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import Trace, join

Ints = NDArray[np.int64]
GOLDEN = 0x9E3779B97F4A7C15  # odd and without pattern: tells the prefixes of streams apart
KNOWN = 1 << 20  # requests of a stream whose place is remembered for those that wait for them


class _Stream:
    """A stream, what of it has not left yet, and the places of what has left."""

    def __init__(self, number: int, streams: int, parts: Iterator[Trace]) -> None:
        self.number, self.streams, self.parts = number, streams, parts
        self.waiting: Trace | None = None
        self.ended = False
        self.first = 0  # of the requests in `places`
        self.places: Ints = np.empty(0, np.int64)

    def known(self) -> float:
        """Up to when all its requests are here, s."""
        while not self.ended and (self.waiting is None or not len(self.waiting)):
            part = next(self.parts, None)
            self.ended = part is None
            if part is not None:
                self.waiting = part
        if self.ended or self.waiting is None:
            return np.inf
        return float(self.waiting.arrival[-1])

    def more(self) -> None:
        """Read on."""
        part = next(self.parts, None)
        self.ended = part is None
        if part is not None and self.waiting is not None:
            self.waiting = join([self.waiting, part])

    def leave(self, time: float) -> Trace | None:
        """Its requests before `time`, s, as they are told from those of other streams."""
        if self.waiting is None or not len(self.waiting):
            return None
        count = int(np.searchsorted(self.waiting.arrival, time))
        part, self.waiting = self.waiting.part(0, count), self.waiting.part(count)
        shift = np.array((self.number * GOLDEN) % 2**64, np.uint64).view(np.int64)
        session = np.where(part.session < 0, -1, part.session * self.streams + self.number)
        return part.having(
            session=session,
            blocks=part.blocks ^ shift,
            slo_class=np.full(count, self.number, np.int64),
        )

    def settle(self, places: Ints) -> None:
        """Its requests that left last have these places in the whole."""
        self.places = np.concatenate([self.places, places])
        gone = max(0, len(self.places) - KNOWN)
        self.first += gone
        self.places = self.places[gone:]

    def place(self, rows: Ints) -> Ints:
        """Places in the whole of its requests by number; -1 for none and for one long gone."""
        row = rows - self.first
        known = (rows >= 0) & (row >= 0)
        found = np.full(len(rows), -1)
        found[known] = self.places[row[known]]
        return found


def mingled(streams: Sequence[Iterator[Trace]]) -> Iterator[Trace]:
    """One stream of all; `slo_class` says from which each request is.

    Of equal arrivals the one of the earlier stream comes first.
    """
    every = [_Stream(number, len(streams), parts) for number, parts in enumerate(streams)]
    first = 0
    while True:
        time = min(each.known() for each in every)
        parts = [each.leave(time) for each in every]
        some = [part for part in parts if part is not None and len(part)]
        if some:
            yield _merged(every, some, first)
            first += sum(map(len, some))
        if np.isinf(time):
            return
        for each in every:
            if each.known() <= time:
                each.more()


def _merged(every: Sequence[_Stream], parts: list[Trace], first: int) -> Trace:
    whole = _joined(parts)
    order = np.argsort(whole.arrival, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = first + np.arange(len(order))
    for each in every:  # an earlier turn comes earlier: its place is known by then
        each.settle(place[whole.slo_class == each.number])
    after = whole.after.copy()
    for each in every:
        mine = whole.slo_class == each.number
        after[mine] = each.place(after[mine])
    return whole.having(after=after, first=first).take(order)


def _joined(parts: list[Trace]) -> Trace:
    """Parts of several streams end to end; those without prefixes have none."""
    size = max(part.block_size for part in parts)
    told = [
        part if part.block_size else part.having(**_no_blocks(len(part)), block_size=size)
        for part in parts
    ]
    return join(told)


def _no_blocks(count: int) -> dict[str, Ints]:
    none = Ragged.empty(count)
    return {"blocks": none.values, "starts": none.starts}
