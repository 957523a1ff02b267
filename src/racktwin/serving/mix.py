"""Mixes: classes of requests that arrive side by side, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from racktwin import catalog
from racktwin.catalog.document import Node
from racktwin.finding import BadInput, Finding
from racktwin.serving.arrivals import Arrivals
from racktwin.serving.class_words import Priority, Within
from racktwin.serving.generated import Generated
from racktwin.serving.lengths import Figure, Lengths
from racktwin.serving.mingle import mingled
from racktwin.serving.sessions import Class, Images, Turns
from racktwin.serving.slo_class import SloClass, faults
from racktwin.serving.trace import Trace
from racktwin.serving.workload import Workload, check, workload
from racktwin.units import Rate

TIMELESS = ("offline", "closed")
OWN = ("input", "output", "turns", "images")


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A class as a file says it: a workload, or lengths of its own; its share or rate, requests/s.

    priority: smaller is served first.
    """

    name: str
    share: Figure | None = None
    rate: Rate | None = None
    priority: Priority = 0
    slo: Within = Within()
    workload: str = ""
    input: Lengths | None = None
    output: Lengths | None = None
    turns: Turns | None = None
    images: Images | None = None


class File(Generated, frozen=True, kw_only=True):
    """A file of named classes."""

    title: str = "mix"
    classes: tuple[Named, ...]


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """A class and its requests. share: of all requests, 0..1."""

    slo_class: SloClass
    made: Workload
    share: float


class Mix(Generated, frozen=True, kw_only=True):
    """Requests of several classes; `arrivals.rate` is that of all, requests/s."""

    streams: tuple[Stream, ...]

    @property
    def turns(self) -> float:
        """Mean requests of a session (1), before any is left out for its length."""
        return 1 / sum(each.share / each.made.turns for each in self.streams)

    @property
    def slo_classes(self) -> tuple[SloClass, ...]:
        """The classes in the order of the file."""
        return tuple(each.slo_class for each in self.streams)

    def at_share(self, each: Stream) -> Workload:
        """The requests of one class, at its part of the rate."""
        return each.made.at(float(self.arrivals.rate) * each.share)

    def steady(self, law: Arrivals) -> Self:
        """The same requests without profiles of a day; every class keeps its own law."""
        streams = []
        for each in self.streams:
            own = msgspec.structs.replace(each.made.arrivals, profile=())
            streams.append(msgspec.structs.replace(each, made=each.made.steady(own)))
        return msgspec.structs.replace(self, streams=tuple(streams))

    def stretches(self, seed: int, stream: int | None = None) -> Iterator[Trace]:
        """The endless stream, in order of arrival; each number `stream` is another draw."""
        drawn = [
            self.at_share(each).stretches(seed, number)
            for number, each in enumerate(self.streams)
            if each.share
        ]
        numbers = [number for number, each in enumerate(self.streams) if each.share]
        for part in mingled(drawn):
            which = np.array(numbers)[part.slo_class]
            priorities = np.array([each.priority or 0 for each in self.slo_classes])
            yield part.having(
                slo_class=which,
                priority=priorities[which],
                classes=tuple(each.name for each in self.slo_classes),
                name=self.name,
                source=self.source,
            )


def load(name: str | Path) -> Workload | Mix:
    """Traffic by its name in the catalog, or as a file describes it; of named classes a mix."""
    entry = catalog.load("workloads", name)
    listed = entry.node.get("classes")
    rows = listed.value if listed is not None and isinstance(listed.value, list) else []
    if not any(row.get("name") for row in rows if isinstance(row.value, dict)):
        return workload(name)
    file = entry.build(File)
    found = _faults(file)
    made = [
        _made(each, file, f"classes[{at}]", rows[at], found) for at, each in enumerate(file.classes)
    ]
    streams = [
        Stream(
            slo_class=SloClass(each.name, each.slo.limits, each.priority),
            made=one,
            share=_weight(each),
        )
        for each, one in zip(file.classes, made, strict=True)
        if one is not None
    ]
    sizes = {each.made.block_size for each in streams} - {0}
    if len(sizes) > 1:
        text = f"prefix blocks must be of one size, found {', '.join(map(str, sorted(sizes)))}"
        found.append(Finding("classes", text))
    if found:
        raise BadInput(found, str(name))
    whole = sum(each.share for each in streams)
    rates = [each.rate for each in file.classes if each.rate is not None]
    total = Rate(sum(rates)) if rates else file.arrivals.rate
    terms: dict[str, Any] = {
        each: getattr(file, each) for each in Generated.__struct_fields__ if each != "name"
    }
    terms["arrivals"] = msgspec.structs.replace(file.arrivals, rate=total)
    shared = (msgspec.structs.replace(each, share=each.share / whole) for each in streams)
    return Mix(streams=tuple(shared), name=entry.name, **terms)


def _weight(each: Named) -> float:
    """Its rate, requests/s, or its share; 1 where it says neither."""
    given = each.share if each.rate is None else each.rate
    return 1.0 if given is None else float(given)


def _faults(file: File) -> list[Finding]:
    found = faults([each.name for each in file.classes], "classes")
    if file.arrivals.law in TIMELESS:
        text = (
            f"{file.arrivals.law}: classes side by side need times; give poisson, gamma, constant"
        )
        found.append(Finding("arrivals.law", text))
    elif file.arrivals.fault:
        found.append(Finding("arrivals", file.arrivals.fault))
    given = [each.rate is not None for each in file.classes]
    if any(given) and not all(given):
        found.append(Finding("classes", "give all of them a rate, or none (then they have shares)"))
    if not sum(map(_weight, file.classes)):
        found.append(Finding("classes", "there must be one with a share above 0"))
    return found


def _made(each: Named, file: File, key: str, row: Node, found: list[Finding]) -> Workload | None:
    """The requests of a class; faults go to `found`."""
    fault = partial(Finding, line=row.line)
    if each.rate is not None and each.share is not None:
        found.append(fault(f"{key}.share", "stands beside a rate; give one of them"))
    if not each.workload:
        if each.input is None or each.output is None:
            text = "is missing; a class has a workload, or input and output"
            found.append(fault(f"{key}.{'output' if each.input else 'input'}", text))
            return None
        one = Class(input=each.input, output=each.output, turns=each.turns, images=each.images)
        made = Workload(
            title=each.name,
            arrivals=file.arrivals,
            classes=(one,),
            context=file.context,
            prompt=file.prompt,
            block_size=file.block_size,
        )
        wrong = [
            msgspec.structs.replace(one, key=one.key.replace("classes[0]", key))
            for one in check(made)
        ]
        found += [one for one in wrong if one.key != "arrivals"]
        return made
    if any(getattr(each, name) is not None for name in OWN):
        found.append(fault(f"{key}.workload", "brings its own lengths; leave out input, output"))
    named = each.workload
    path = str(Path(row.file).parent / named) if catalog.is_path(named) else named
    try:
        made = workload(path)
    except BadInput as error:
        where = f"{named}: " if catalog.is_path(named) else ""
        found += [fault(f"{key}.workload", f"{where}{each.message}") for each in error.findings]
        return None
    if made.arrivals.law in TIMELESS:
        text = f"{named} has no times ({made.arrivals.law}); it cannot arrive beside others"
        found.append(fault(f"{key}.workload", text))
    return made


def is_traffic(name: str) -> bool:
    """Whether a name means a workload or its YAML file; else it is a file of requests."""
    path = Path(name)
    return path.suffix in (".yaml", ".yml") or not (catalog.is_path(name) or path.is_file())
