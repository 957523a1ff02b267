"""Readings at the edges of equal bins of time, and the times between tokens in each.

Neighbours merge when there are too many.
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.fleet import Floats
from racktwin.serving.sparse import Sparse

MOST = 512  # bins kept when the resolution is free
MOST_FIXED = 10_000  # and when it was asked for


class Timeline:
    """Rows of readings, one per edge; gaps: times between tokens, one histogram per bin.

    step: s between edges; it doubles when there are too many.
    """

    def __init__(self, step: float, most: int = MOST) -> None:
        self.step, self.most = step, most
        self.times = [0.0]
        self.rows: list[Floats] = []
        self.gaps: list[Sparse] = []

    @property
    def edge(self) -> float:
        """The next edge, s."""
        return len(self.times) * self.step if self.rows else 0.0

    def add(self, row: Floats, gaps: Sparse) -> None:
        """A row of readings (any unit) at the next edge, and the gaps since the last.

        The first are those at 0 s.
        """
        if self.rows:
            self.times.append(self.edge)
            self.gaps.append(gaps)
        self.rows.append(row)
        if len(self.rows) > self.most and len(self.rows) % 2:
            self.step *= 2
            self.times, self.rows = self.times[::2], self.rows[::2]
            pairs = zip(self.gaps[::2], self.gaps[1::2], strict=True)
            self.gaps = [one.with_(other) for one, other in pairs]

    @property
    def columns(self) -> Floats:
        """Readings (any unit) by column, one entry per edge."""
        return np.array(self.rows).T

    def at(self, column: Floats, time: float) -> float:
        """A column of readings (any unit) at `time`, s, between edges on a straight line."""
        return float(np.interp(time, self.times, column))
