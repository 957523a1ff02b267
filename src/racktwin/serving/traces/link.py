"""Links: which completion each turn of a recorded session waited for."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.traces.batch import Batch

REMEMBERED = 256  # completions of a session that a later turn may have waited for


class Completion(NamedTuple):
    """When a request was recorded to complete (s, nan if it was not), and its place."""

    end: float
    place: int


class Links:
    """Sessions seen so far; their requests come in order of arrival."""

    def __init__(self) -> None:
        self.sessions: dict[int, deque[Completion]] = {}
        self.lines: dict[int, Completion] = {}

    def of(self, batch: Batch, first: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each request the index it waited for, -1 for none, and the pause since then, s.

        It is the last to complete of its session and of those its session started; for the first
        turn of a started session, of the session that started it. first: index of request 0.
        """
        after = np.full(len(batch), -1)
        pause = np.zeros(len(batch))
        for row in np.flatnonzero(batch.session >= 0):
            session, parent = int(batch.session[row]), int(batch.parent[row])
            arrival, end = float(batch.arrival[row]), float(batch.end[row])
            before = self.lines.get(int(batch.follows[row]))
            before = before or self._last(session, arrival) or self._last(parent, arrival)
            if before is not None:
                after[row] = before.place
                given = float(batch.pause[row])
                pause[row] = given if math.isfinite(given) else max(arrival - before.end, 0.0)
                pause[row] = np.nan_to_num(pause[row])
            done = Completion(end, first + int(row))
            self.lines[int(batch.line[row])] = done
            for each in (session, parent):
                if each >= 0:
                    self.sessions.setdefault(each, deque(maxlen=REMEMBERED)).append(done)
        return after, pause

    def _last(self, session: int, time: float) -> Completion | None:
        """The last completion of a session up to a time; without recorded ends, its last turn."""
        known = [each for each in self.sessions.get(session, ()) if not each.end > time]
        return max(known, key=lambda each: (np.nan_to_num(each.end), each.place), default=None)
