"""Rows of different length in two arrays: `values` end to end, `starts` where each row begins."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Ragged(msgspec.Struct, frozen=True, eq=False):
    """n rows of whole numbers; row i is values[starts[i]:starts[i + 1]].

    values: int64; starts: int64, n + 1 of them, the first 0.
    """

    values: Ints
    starts: Ints

    @staticmethod
    def empty(rows: int) -> Ragged:
        """Rows without members."""
        return Ragged(np.empty(0, np.int64), np.zeros(rows + 1, np.int64))

    @staticmethod
    def of(rows: list[Ints | None]) -> Ragged:
        """One row per member of `rows`; None is an empty one."""
        lengths = np.array([0 if row is None else len(row) for row in rows], np.int64)
        filled = [row for row in rows if row is not None]
        values = np.concatenate(filled) if filled else np.empty(0, np.int64)
        return Ragged(values, ends(lengths))

    @staticmethod
    def join(parts: list[Ragged]) -> Ragged:
        """The rows of all parts in turn."""
        lengths = np.concatenate([part.lengths for part in parts])
        return Ragged(np.concatenate([part.values for part in parts]), ends(lengths))

    @property
    def lengths(self) -> Ints:
        """Members of each row."""
        return np.diff(self.starts)

    def part(self, start: int, stop: int) -> Ragged:
        """Rows start to stop, without a copy of their members."""
        starts = self.starts[start : stop + 1]
        return Ragged(self.values[starts[0] : starts[-1]], starts - starts[0])

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Ragged:
        """The rows at these indices (or where the mask holds), in that order."""
        lengths = self.lengths[rows]
        starts = ends(lengths)
        if not len(self.values):
            return Ragged(self.values, starts)
        shift = np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return Ragged(self.values[np.arange(starts[-1]) + shift], starts)


def ends(lengths: Ints) -> Ints:
    """`starts` of rows with these lengths."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
