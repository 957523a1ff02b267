"""SLO classes: requests of one name share a priority and limits of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from racktwin.finding import BadInput, Finding
from racktwin.serving.limits import Limits
from racktwin.serving.trace import Trace

MOST = 16  # classes of a run; each has statistics of its own
LONGEST = 40  # letters of a name
REST = "other"  # requests without a class beside those that have one


class SloClass(msgspec.Struct, frozen=True):
    """A class of requests. priority: smaller is served first; None is what each request says."""

    name: str
    limits: Limits = Limits()
    priority: int | None = None


def faults(names: Sequence[str], key: str) -> list[Finding]:
    """What is wrong with the names of classes; key: what they are given under."""
    found = []
    for name in dict.fromkeys(names):
        if not name.strip() or not name.isprintable() or len(name) > LONGEST:
            text = f"expected a name of 1 to {LONGEST} letters, found {name[:LONGEST]!r}"
            found.append(Finding(key, text))
        if names.count(name) > 1:
            found.append(Finding(key, f"{name[:LONGEST]!r} is given {names.count(name)} times"))
    if len(set(names)) > MOST:
        found.append(Finding(key, f"expected at most {MOST} classes, found {len(set(names))}"))
    return found


def classified(stream: Iterable[Trace], classes: Sequence[SloClass]) -> Iterator[Trace]:
    """The same requests, numbered as in `classes`, others behind them, with their priorities.

    A trace that names no class has the one of its priority. BadInput when there are too many.
    """
    names = [each.name for each in classes]
    by_priority = {each.priority: number for number, each in enumerate(classes)}
    for part in stream:
        named = part.slo_class >= 0
        if not classes and not named.any():
            yield part
            continue
        number = np.full(len(part), -1, np.int64)
        if part.classes:
            here = [_number(names, name) for name in part.classes]
            number[named] = np.array(here)[part.slo_class[named]]
        else:
            for rank, mine in by_priority.items():
                if rank is not None:
                    number[part.priority == rank] = mine
        if (number < 0).any():
            number[number < 0] = _number(names, REST)
        if len(names) > MOST:
            raise BadInput(faults(names, "class"), part.name)
        priority = part.priority.copy()
        for index, each in enumerate(classes):
            if each.priority is not None:
                priority[number == index] = each.priority
        yield part.having(slo_class=number, priority=priority, classes=tuple(names))


def _number(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)
