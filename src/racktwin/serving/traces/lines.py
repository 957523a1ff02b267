"""Lines: files of one request per line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from racktwin.serving.ragged import Ragged
from racktwin.serving.traces.batch import NAN, Batch, Ints
from racktwin.serving.traces.reading import UNREADABLE, Names, Reading
from racktwin.serving.traces.source import Source

UNPARSED = (ValueError, ArithmeticError, LookupError, RecursionError, msgspec.MsgspecError)


class Row(NamedTuple):
    """One request as its line tells it.

    arrival: s from any origin; input, output: tokens. blocks: ids of its prefix blocks.
    session, parent: names of its session and of the one that started it. end: s, when it was
    recorded to complete; pause: s after the session's turn before; nan where unknown.
    """

    arrival: float
    input: float
    output: float
    blocks: Ints | None = None
    session: str = ""
    parent: str = ""
    end: float = NAN
    pause: float = NAN
    priority: int = 0
    model: str = ""
    slo_class: str = ""


class Unusable(ValueError):
    """A line that can be read but not used; the text is the reason."""


def requests(
    source: Source, reading: Reading, parse: Callable[[bytes], Row | None]
) -> Iterator[Batch]:
    """A file of one request per line: what `parse` makes of each; None where there is none."""
    for block in source.blocks():
        lines, rows = [], []
        for number, line in enumerate(block.data.split(b"\n"), block.line):
            if not line or line.isspace():
                continue
            try:
                row = parse(line)
            except Unusable as reason:
                reading.skip(str(reason), [number])
            except UNPARSED:
                reading.skip(UNREADABLE, [number])
            else:
                if row is not None:
                    lines.append(number)
                    rows.append(row)
        if rows:
            yield _columns(lines, rows, reading)


def _columns(lines: list[int], rows: list[Row], reading: Reading) -> Batch:
    columns = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))

    def numbers(name: str, known: Names) -> Ints:
        return np.array([known.number(each) for each in columns[name]])

    return Batch.of(
        np.array(lines),
        *(np.array(columns[name], np.float64) for name in ("arrival", "input", "output")),
        end=np.array(columns["end"], np.float64),
        pause=np.array(columns["pause"], np.float64),
        session=numbers("session", reading.sessions),
        parent=numbers("parent", reading.sessions),
        priority=np.array(columns["priority"], np.int64),
        model=numbers("model", reading.models),
        slo_class=numbers("slo_class", reading.classes),
        prefix=Ragged.of(list(columns["blocks"])),
    )
