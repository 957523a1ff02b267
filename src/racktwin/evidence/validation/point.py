"""One row of a table of measurements beside its prediction, and a whole table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.finding import BadInput

Array = NDArray[np.float64]
T = TypeVar("T")
Track = Callable[[Sequence[T]], Iterable[T]]
"""Passes the items of a long loop on, and may show how far it is."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A predicted figure with its 80 % interval.

    value, low, high, measured: any unit, that of the table's column. low, high: None where nobody
    knows; measured: None where the row says nothing.
    doubt: why the measured value is not trusted, '' when it is.
    apart: a regime whose errors are reported on their own, '' for the usual one.
    """

    figure: str
    value: float
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    doubt: str = ""
    apart: str = ""

    @property
    def held(self) -> bool | None:
        """Whether the interval holds the measured value; None without either."""
        if self.measured is None or self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A row and its answer: either `values`, or the `reason` there are none.

    cells: the row as it was given. columns: the cells that `points.csv` adds.
    traits: what rows are grouped by. repeated: the same row stands above.
    many: where a row stands for a whole table, all (predicted, measured) of a figure.
    """

    line: int
    cells: Mapping[str, str]
    columns: Mapping[str, str] = {}
    values: tuple[Value, ...] = ()
    traits: Mapping[str, str] = {}
    evidence: str = ""
    reason: str = ""
    repeated: bool = False
    many: Mapping[str, tuple[Array, Array]] = {}


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """A table of points. added: the columns `points.csv` adds; by: traits to group by."""

    set: str
    source: str
    header: tuple[str, ...]
    added: tuple[str, ...]
    by: tuple[str, ...]
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()

    @property
    def answered(self) -> tuple[Point, ...]:
        """The points with an answer."""
        return tuple(each for each in self.points if each.values)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the predicted figures, in order."""
        return tuple(dict.fromkeys(v.figure for point in self.points for v in point.values))


def reason(fault: BadInput) -> str:
    """All findings of a row in one line."""
    texts = dict.fromkeys(f"{each.key}: {each.message}" for each in fault.findings)
    return "; ".join(texts)


def untracked(items: Sequence[T]) -> Iterable[T]:
    """A loop that nobody watches."""
    return items


def cell(value: float | None) -> str:
    """A value (any unit) as it stands in points.csv, '' for none."""
    return "" if value is None else f"{value:.6g}"
