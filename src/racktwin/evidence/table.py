"""Rows of a CSV file from outside: bounded, checked, with their line numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from racktwin.finding import BadInput, Finding

MOST_ROWS = 200_000


def rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, row) of a CSV with at least the columns `needed`; BadInput when it is none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", restval="")
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(
                    [Finding(name, "column is missing", 1) for name in missing], str(path)
                )
            for count, row in enumerate(reader):
                if count >= MOST_ROWS:
                    raise BadInput([Finding("file", f"more than {MOST_ROWS:,} rows")], str(path))
                yield reader.line_num, row
    except OSError as error:
        raise BadInput([Finding("file", f"cannot be read: {error.strerror}")], str(path)) from error
    except UnicodeDecodeError as error:
        raise BadInput([Finding("file", "is not UTF-8 text")], str(path)) from error
    except csv.Error as error:
        raise BadInput([Finding("file", f"is no CSV: {error}")], str(path)) from error
