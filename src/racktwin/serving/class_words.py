"""SLO classes as typed: 'chat:ttft=1s,tpot=50ms,priority=0', or a YAML file of them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from racktwin import catalog
from racktwin.finding import BadInput, Finding, unknown
from racktwin.serving.limits import Limits
from racktwin.serving.slo_class import SloClass, faults
from racktwin.units import Seconds

KEYS = ("ttft", "tpot", "e2e", "priority")
LATEST = 1_000_000  # priority
Priority = Annotated[int, msgspec.Meta(ge=0, le=LATEST)]


class Within(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a class as a file says them, s."""

    ttft: Seconds | None = None
    tpot: Seconds | None = None
    e2e: Seconds | None = None

    @property
    def limits(self) -> Limits:
        """As the simulation takes them."""
        given = msgspec.structs.asdict(self)
        return Limits(**{name: float(each) for name, each in given.items() if each is not None})


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A class in a file."""

    name: str
    slo: Within = Within()
    priority: Priority | None = None


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of classes."""

    classes: tuple[Entry, ...]


def read(flag: str, texts: list[str], findings: list[Finding]) -> tuple[SloClass, ...]:
    """The classes that are given under a flag; faults go to `findings`."""
    found: list[SloClass] = []
    for text in texts:
        try:
            found += _file(text) if catalog.is_path(text) else [_class(flag, text)]
        except BadInput as fault:
            file = f"{text}: " if catalog.is_path(text) else ""
            findings += [
                Finding(flag, f"{file}{each}" if file else each.message) for each in fault.findings
            ]
    findings += faults([each.name for each in found], flag)
    return tuple(found)


def _file(path: str) -> list[SloClass]:
    read = catalog.build(catalog.read(path), File)
    return [SloClass(each.name, each.slo.limits, each.priority) for each in read.classes]


def _class(flag: str, text: str) -> SloClass:
    name, _, rest = text.partition(":")
    given: dict[str, str] = {}
    found: list[Finding] = []
    for part in filter(None, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in KEYS:
            found.append(unknown(flag, key[:20], KEYS))
        elif not equals or key in given:
            found.append(Finding(flag, f"expected {key}=VALUE once, found {part[:20]!r}"))
        given[key] = value
    limits: dict[str, float] = {}
    for key in KEYS[:3]:
        limit = Seconds.read(given[key]) if key in given else None
        if isinstance(limit, str):
            found.append(Finding(flag, f"{key}: {limit}"))
        elif limit is not None:
            limits[key] = float(limit)
    rank = given.get("priority")
    whole = rank is None or (rank.isdecimal() and len(rank) < 8 and int(rank) <= LATEST)
    if not whole:
        found.append(Finding(flag, f"priority: expected 0 to {LATEST:,}, found {rank!r}"))
    if found:
        raise BadInput(found, flag)
    return SloClass(name.strip(), Limits(**limits), None if rank is None else int(rank))
