"""Every row of a file to its point: what all tables of measurements have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from racktwin.evidence.data import HERE
from racktwin.evidence.table import rows
from racktwin.evidence.validation.point import Point, Track, Validation, reason
from racktwin.finding import BadInput, nearest

Row = Mapping[str, str]
Answer = Callable[[Row, int], Point]
SHIPPED = "shipped measurements"


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of table.

    shipped: the file that ships. needed: columns without which nothing can be predicted; known:
    all that are read or belong to the table. added: columns that points.csv gains, the last two
    'evidence' and 'reason'. measured: columns that predictions are scored by. by:
    traits to group by.
    """

    set: str
    shipped: str
    needed: tuple[str, ...]
    known: tuple[str, ...]
    added: tuple[str, ...]
    measured: tuple[str, ...] = ()
    by: tuple[str, ...]


def sweep(
    form: Form, path: str | Path | None, answer: Answer, track: Track[tuple[int, Row]]
) -> Validation:
    """The points of a file, or of what ships without one; a row may only lack an answer.

    `answer` gets the row and its line; its BadInput is the reason there is no answer.
    """
    file = HERE / form.shipped if path is None else Path(path)
    table = list(rows(file, form.needed))
    header = tuple(name for name in (table[0][1] if table else form.needed))
    header = tuple(name for name in header if name not in form.added)
    seen: set[tuple[str, ...]] = set()
    points = []
    for line, row in track(table):
        given = {name: row[name] for name in header}
        key = tuple(given.values())
        point = _answered(answer, given, line)
        points.append(msgspec.structs.replace(point, repeated=key in seen))
        seen.add(key)
    return Validation(
        set=form.set,
        source=SHIPPED if path is None else str(path),
        header=header,
        added=form.added,
        by=form.by,
        points=tuple(points),
        notes=_strange(header, form.known),
        measured=form.measured,
    )


def _answered(answer: Answer, given: Row, line: int) -> Point:
    try:
        return answer(given, line)
    except BadInput as fault:
        said = reason(fault)
        return Point(line=line, cells=given, columns={"reason": said}, reason=said)


def _strange(header: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Notes on columns that nobody reads, with the one that may be meant."""
    notes = []
    for name in header:
        if name not in known:
            close = nearest(name, [each for each in known if each not in header])
            hint = f"; is it {close!r}?" if close else ""
            notes.append(f"column {name[:60]!r} is not read{hint}")
    return tuple(notes)
