"""Which rows of a table a rule speaks of: conditions on columns, written in YAML.

    {framework: trtllm, isl: [1024, 8192], id: {like: "20*"}, concurrency: {min: 64}}

All must hold. A list holds any of its values; an empty value ('') matches an empty column.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any


def matches(where: Mapping[str, Any], row: Mapping[str, str]) -> bool:
    """Whether every condition of `where` holds for `row`; a column the row lacks reads as empty."""
    return all(_holds(wanted, row.get(column) or "") for column, wanted in where.items())


def _holds(wanted: Any, text: str) -> bool:
    match wanted:
        case list():
            return any(_holds(each, text) for each in wanted)
        case {"like": patterns}:
            patterns = patterns if isinstance(patterns, list) else [patterns]
            return any(fnmatchcase(text, str(pattern)) for pattern in patterns)
        case dict():
            value = number(text)
            low, high = wanted.get("min"), wanted.get("max")
            return (
                value is not None
                and (low is None or value >= low)
                and (high is None or value <= high)
            )
        case int() | float() if not isinstance(wanted, bool):
            return number(text) == wanted
        case _:
            return text == ("" if wanted is None else str(wanted))


def number(text: str) -> float | None:
    """The finite number written in `text` (any unit), or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
