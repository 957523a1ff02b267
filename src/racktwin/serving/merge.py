"""Merge: sessions overlap in time; their requests leave in order of arrival."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.columns import Columns
from racktwin.serving.sessions import Calls

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Arriving(Columns, frozen=True, eq=False):
    """Requests on their way.

    serial: number in the order of drawing, a session's turns one after the other. arrival: s.
    session: -1 for none. input, output, encoder: tokens. images: how many. pause: s. follows:
    whether an earlier turn must complete first; after: its place in the stream once it has left,
    else -1.
    """

    serial: Ints
    arrival: Floats
    session: Ints
    input: Ints
    output: Ints
    encoder: Ints
    images: Ints
    pause: Floats
    follows: NDArray[np.bool_]
    after: Ints

    @classmethod
    def of(cls, drawn: Calls, start: Floats, sessions: int, serial: int) -> Self:
        """The requests drawn for sessions that begin at `start`, s.

        sessions, serial: how many of either were drawn before.
        """
        count = len(drawn.session)
        return cls(
            serial=serial + np.arange(count),
            arrival=start[drawn.session] + drawn.offset,
            session=sessions + drawn.session,
            input=drawn.input,
            output=drawn.output,
            encoder=drawn.encoder,
            images=drawn.images,
            pause=drawn.pause,
            follows=drawn.turn > 0,
            after=np.full(count, -1),
        )


class Merge:
    """Requests that wait for their time, and how many have left."""

    def __init__(self) -> None:
        self.waiting: Arriving | None = None
        self.left = 0

    def leave(self, added: Arriving, time: float) -> Arriving:
        """With `added` on their way: all that arrive up to `time`, s, in order."""
        waiting = added if self.waiting is None else Arriving.join([self.waiting, added])
        if not waiting.follows.any() and waiting.arrival[-1] <= time:  # nobody has to wait
            self.left += len(waiting)
            self.waiting = None
            return waiting
        due = waiting.arrival <= time
        ready, waiting = waiting.take(due), waiting.take(~due)
        ready = ready.take(np.lexsort((ready.serial, ready.arrival)))
        by_serial = np.argsort(ready.serial)
        for each in (ready, waiting):
            _release(each, ready.serial[by_serial], self.left + by_serial)
        self.left += len(ready)
        self.waiting = waiting
        return ready


def _release(each: Arriving, serial: Ints, place: Ints) -> None:
    """Tell requests whose earlier turn has left (rising `serial`, with its `place`) where it is."""
    if not len(serial) or not each.follows.any():
        return
    before = each.serial - 1
    found = np.minimum(np.searchsorted(serial, before), len(serial) - 1)
    hit = each.follows & (serial[found] == before)
    each.after[hit] = place[found[hit]]
