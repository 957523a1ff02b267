"""Tables: comma-separated traces, known by their column names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.lines import Row, requests
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source


class Columns(msgspec.Struct, frozen=True):
    """Names of the columns of one kind of table, '' where it has none.

    when: reads its way to write time, s.
    """

    arrival: str
    input: str
    output: str
    when: Callable[[bytes], float]
    session: str = ""
    model: str = ""
    priority: str = ""
    slo_class: str = ""

    @property
    def needed(self) -> tuple[str, str, str]:
        """Columns without which it is another kind of table."""
        return self.arrival, self.input, self.output


def date(text: bytes) -> float:
    """Seconds since 1970 at a date with time; without a zone it is UTC."""
    moment = datetime.fromisoformat(text.decode().strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


KINDS = {
    "azure": Columns("timestamp", "contexttokens", "generatedtokens", date),
    "burstgpt": Columns(
        "timestamp", "request tokens", "response tokens", float, "session id", "model"
    ),
    "lengths": Columns(
        "arrival_s", "input_tokens", "output_tokens", float, "session", "model", "priority", "class"
    ),
}


def header(line: bytes) -> tuple[str, ...]:
    """Column names in a first line, small letters."""
    text = line.decode("utf-8-sig", "replace")
    return tuple(cell.strip().strip('"').lower() for cell in text.split(","))


def batches(source: Source, reading: Reading, kind: str) -> Iterator[Batch]:
    """The requests of a table of this kind."""
    first = source.head.lstrip().partition(b"\n")[0]
    names, columns = header(first), KINDS[kind]
    arrival, input, output = (names.index(each) for each in columns.needed)
    told = (columns.session, columns.model, columns.slo_class)
    session, model, slo_class = (names.index(each) if each in names else -1 for each in told)
    priority = names.index(columns.priority) if columns.priority in names else -1
    width, top, when = len(names), first.strip(), columns.when
    plain = max(session, model, slo_class, priority) < 0

    def parse(line: bytes) -> Row | None:
        cells = line.split(b",")
        if len(cells) != width:
            raise ValueError
        if line.strip() == top:
            return None
        time, tokens, answer = when(cells[arrival]), float(cells[input]), float(cells[output])
        if plain:
            return Row(time, tokens, answer)
        words = [
            cells[each].decode().strip() if each >= 0 else ""
            for each in (session, model, slo_class)
        ]
        rank = int(cells[priority]) if priority >= 0 else 0
        name, kind, group = words
        return Row(time, tokens, answer, session=name, model=kind, slo_class=group, priority=rank)

    return requests(source, reading, parse)
