"""Rows of a CSV file from outside: bounded, checked, with their line numbers."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from racktwin.evidence.data import HERE
from racktwin.finding import BadInput, Finding, nearest

MOST_ROWS = 200_000
MOST_COLUMNS = 500
MOST_BYTES = 200_000_000


def rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, row) of a CSV with at least the columns `needed`; BadInput when it is none.

    Every row has the columns of the header, in its order; cells beyond them are dropped.
    """
    try:
        with _opened(path) as file:
            reader = csv.DictReader(file, restkey="", restval="")
            _check(reader.fieldnames or (), needed, path)
            for count, row in enumerate(reader):
                if count >= MOST_ROWS:
                    raise BadInput([Finding("file", f"more than {MOST_ROWS:,} rows")], str(path))
                row.pop("", None)
                yield reader.line_num, row
    except OSError as error:
        raise BadInput([Finding("file", f"cannot be read: {error.strerror}")], str(path)) from error
    except UnicodeDecodeError as error:
        raise BadInput([Finding("file", "is not UTF-8 text")], str(path)) from error
    except csv.Error as error:
        raise BadInput([Finding("file", f"is no CSV: {error}")], str(path)) from error


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz" and path.parent == HERE:
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise BadInput([Finding("file", f"is larger than {MOST_BYTES / 1e6:.0f} MB")], str(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadInput([Finding("file", "is no regular file")], str(path))
    return path.open(encoding="utf-8-sig", newline="")


def _check(names: Sequence[str], needed: Sequence[str], path: Path) -> None:
    findings = []
    for name in needed:
        if name not in names:
            close = nearest(name, [each for each in names if each not in needed])
            hint = f"; is it {close[:80]!r}?" if close else ""
            findings.append(Finding(name, f"column is missing{hint}", 1))
    twice = {name for name in names if name and list(names).count(name) > 1}
    findings += [Finding(name[:80], "column stands twice", 1) for name in sorted(twice)[:9]]
    if len(names) > MOST_COLUMNS:
        findings = [Finding("file", f"has {len(names):,} columns", 1)]
    if findings:
        raise BadInput(findings, str(path))
