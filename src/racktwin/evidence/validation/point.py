"""One row of a table of measurements beside its prediction, and a whole table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.evidence.condition import number
from racktwin.finding import BadInput

Array = NDArray[np.float64]
T = TypeVar("T")
Track = Callable[[Sequence[T]], Iterable[T]]
"""Passes the items of a long loop on, and may show how far it is."""


class Held(msgspec.Struct, frozen=True):
    """A figure predicted by what never saw its row, with an interval made without it.

    value, low, high: any unit, that of the table's column; low, high: None where nobody knows.
    """

    value: float
    low: float | None = None
    high: float | None = None


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A predicted figure with its 80 % interval.

    value, low, high, measured: any unit, that of the table's column. low, high: None where nobody
    knows; measured: None where the row says nothing.
    held: the same without the row; None where the prediction saw no measurement of this kind.
    doubt: why the measured value is not trusted, '' when it is.
    apart: a regime whose errors are reported on their own, '' for the usual one.
    """

    figure: str
    value: float
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    held: Held | None = None
    doubt: str = ""
    apart: str = ""

    @property
    def unseen(self) -> Held:
        """The prediction that did not see the row: `held`, or this one where it never did."""
        return self.held or Held(self.value, self.low, self.high)

    @property
    def inside(self) -> bool | None:
        """Whether the interval made without the row holds its measured value; None without."""
        found = self.unseen
        if self.measured is None or found.low is None or found.high is None:
            return None
        return found.low <= self.measured <= found.high


class Many(msgspec.Struct, frozen=True):
    """A figure at all points of a table, any unit.

    predicted, measured: arrays; held: predicted where the point was taken out of the table, NaN
    where it could not be; low, high: interval of measured over held, 1, NaN where nobody knows.
    """

    predicted: Array
    measured: Array
    held: Array
    low: float = np.nan
    high: float = np.nan


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A row and its answer: either `values`, or the `reason` there are none.

    cells: the row as it was given. columns: the cells that `points.csv` adds.
    traits: what rows are grouped by. repeated: the same row stands above. configuration: what
    ran, the same in all runs of it.
    many: where a row stands for a whole table, all of its points.
    """

    line: int
    cells: Mapping[str, str]
    columns: Mapping[str, str] = {}
    values: tuple[Value, ...] = ()
    traits: Mapping[str, str] = {}
    evidence: str = ""
    reason: str = ""
    repeated: bool = False
    configuration: str = ""
    many: Mapping[str, Many] = {}


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """A table of points. added: the columns `points.csv` adds; by: traits to group by.

    held: what predictions that did not see their row are called. measured: columns that
    predictions are scored by.
    """

    set: str
    source: str
    header: tuple[str, ...]
    added: tuple[str, ...]
    by: tuple[str, ...]
    points: tuple[Point, ...]
    held: str = "out of fold"
    notes: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()

    @property
    def answered(self) -> tuple[Point, ...]:
        """The points with an answer."""
        return tuple(each for each in self.points if each.values)

    @property
    def unscored(self) -> int:
        """Measured cells that are no positive number: they are not scored."""
        full = [(p.cells, n) for p in self.points for n in self.measured if _filled(p.cells, n)]
        return sum(positive(cells, name) is None for cells, name in full)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the predicted figures, in order."""
        return tuple(dict.fromkeys(v.figure for point in self.points for v in point.values))


def _filled(row: Mapping[str, str], column: str) -> bool:
    return bool((row.get(column) or "").strip())


def positive(row: Mapping[str, str], column: str) -> float | None:
    """A measured cell (any unit, the column's); None where it is empty or no positive number."""
    value = number((row.get(column) or "").strip())
    return value if value is not None and value > 0 else None


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
