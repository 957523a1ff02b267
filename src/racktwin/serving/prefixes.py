"""Prefixes of the requests in a window, as units of the prefix cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.fleet import NOTHING_KNOWN, ROW, Ints, Known
from racktwin.serving.ragged import Ragged, ends
from racktwin.serving.trace import Trace


def units(trace: Trace, unit: int) -> Ragged:
    """Ids of the full units of each prompt: that of the prefix block a unit of tokens ends with.

    unit: tokens, a multiple of the trace's block size.
    """
    if not trace.block_size:
        return Ragged.empty(len(trace))
    blocks = unit // trace.block_size
    counts = np.minimum(trace.input // unit, trace.prefix.lengths // blocks)
    starts = ends(counts)
    place = np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], counts)
    return Ragged(trace.blocks[np.repeat(trace.starts[:-1], counts) + place * blocks - 1], starts)


class Prefixes:
    """Units of the rows of a window, and where one row goes on from another.

    unit: tokens; 0: nothing is known. known: as the compiled loops take it. latest: row of the last
    request of each session.
    """

    def __init__(self, unit: int) -> None:
        self.unit, self.rows, self.heir = unit, Ragged.empty(0), np.empty(0, np.int64)
        self.known = NOTHING_KNOWN
        self.latest: dict[int, int] = {}

    def add(self, stretch: Trace, keep: NDArray[np.bool_], after: Ints) -> None:
        """Take in the kept requests of a stretch; after: row each waits for, negative for none."""
        if not self.unit:
            return
        before = len(self.heir)
        self.rows = Ragged.join([self.rows, units(stretch, self.unit).take(keep)])
        self.heir = np.concatenate([self.heir, np.full(len(after), -1)])
        for row in np.flatnonzero(after >= 0):
            self._inherit(int(after[row]), before + int(row))
        session = stretch.session[keep]
        for row in np.flatnonzero(session >= 0):  # a turn may wait for more than the one before
            name = int(session[row])
            if (last := self.latest.get(name)) is not None and last != after[row]:
                self._inherit(last, before + int(row))
            self.latest[name] = before + int(row)
        self._tell()

    def _inherit(self, parent: int, child: int) -> None:
        """Note the first of the rows behind `parent` that begins with all of its units."""
        old, new = (self.rows.part(row, row + 1).values for row in (parent, child))
        if self.heir[parent] < 0 and np.array_equal(old, new[: len(old)]):
            self.heir[parent] = child

    def drop(self, rows: int) -> None:
        """Forget leading rows."""
        if not self.unit:
            return
        kept = self.rows.part(rows, len(self.heir))
        self.rows = Ragged(kept.values.copy(), kept.starts)
        self.heir = self.heir[rows:].copy()
        self.heir[self.heir >= 0] -= rows
        kept_rows = ((name, row - rows) for name, row in self.latest.items() if row >= rows)
        self.latest = dict(kept_rows)
        self._tell()

    def _tell(self) -> None:
        told = np.zeros(len(self.heir) + 1, ROW)
        told["start"], told["heir"][:-1] = self.rows.starts, self.heir
        self.known = Known(self.rows.values, told)
