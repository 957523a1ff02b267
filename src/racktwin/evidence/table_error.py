"""How far to trust a price from a table, or an MLPerf result: 80 % of what was measured over what
is said without it. data/table_intervals.yaml is written by tools/leave_out.py.
"""

from __future__ import annotations

from functools import cache

import msgspec

from racktwin.evidence import data


class TableError(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of the tables of one operator or collective, or in one scenario.

    low, high: ends of 80 % of measured over predicted, 1. rows: of them. without: the chip
    whose own rows do not count, '' for none.
    """

    set: str
    name: str
    without: str = ""
    low: float
    high: float
    rows: int


@cache
def _known() -> dict[tuple[str, str, str], TableError]:
    found = msgspec.convert(data.load("table_intervals")["kinds"], list[TableError])
    return {(each.set, each.name, each.without): each for each in found}


def table_error(set: str, name: str, without: str) -> TableError | None:
    """Errors of an operator's tables but those of a chip; None for one never measured."""
    return _known().get((set, name, without)) or _known().get((set, name, ""))
