"""Outages as typed: flags (`serve:3@120s+5min`) and a file of events."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import msgspec

from racktwin import catalog
from racktwin.catalog.document import Node
from racktwin.catalog.shape import Reader
from racktwin.finding import BadInput, Finding, gathered, unknown
from racktwin.planning.outage_keys import Defaults, DrainKeys, EventKeys, FailKeys, RandomKeys
from racktwin.serving.outages import Chance, Outage, Outages, Recovery
from racktwin.serving.scheduling import start_up
from racktwin.serving.steady import Served
from racktwin.units import Seconds

FORM = "ROLE:REPLICA@TIME[+DURATION], as in serve:3@120s+5min"
WHICH = re.compile(r"\*|([0-9]{1,9})(?:-([0-9]{1,9}))?")
LEAST_MTBF = 1.0  # s, of a replica
LONGEST = 40  # characters of a wrong word that are repeated
SOURCE = "simulate"
RETRY, MIGRATE = "retry", "migrate"
T = TypeVar("T")


class Crew(msgspec.Struct, frozen=True):
    """What has to be known of a pool: replicas of all copies, GPUs of one; s a start takes."""

    replicas: int
    gpus: int
    start_up: float


def crews(served: Served) -> dict[str, Crew]:
    """The pools of a deployment."""
    copies, pools = served.deployment.copies, served.deployment.pools
    return {
        role: Crew(copies * pool.most, pool.layout.gpus, start_up(served, role))
        for role, pool in pools.items()
    }


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The flags as typed; None and () mean nothing was said."""

    fail: Sequence[str] = ()
    drain: Sequence[str] = ()
    events: str | None = None
    on_failure: str | None = None
    detection: str | None = None


def outages(asked: Asked, pools: Mapping[str, Crew] | None, seed: int) -> Outages | None:
    """All outages asked for, or None; BadInput with every finding.

    pools: None where the deployment cannot be read: what they have is not checked then.
    """
    reader = _Wish(pools)
    keys, faults = EventKeys(), []
    if asked.events is not None:
        try:
            keys = reader.file(asked.events)
        except BadInput as fault:  # there is no such file
            faults.append(fault)
        if reader.findings:
            faults.append(BadInput(reader.findings, asked.events))
            reader.findings = []
    for text in filter(None, asked.fail):
        reader.flag("--fail", text)
    for text in filter(None, asked.drain):
        reader.flag("--drain", text)
    if asked.on_failure not in (None, RETRY, MIGRATE):
        word = str(asked.on_failure)[:LONGEST]
        reader.findings.append(unknown("--on-failure", word, (RETRY, MIGRATE)))
    given = reader.seconds("--detection", asked.detection)
    reader.overlaps()
    if reader.findings:
        source = asked.events if all(each.line for each in reader.findings) else None
        faults.append(BadInput(reader.findings, source or SOURCE))
    if faults:
        raise gathered(faults, SOURCE)
    if pools is None:
        return None
    usual = catalog.load("defaults", "outage").build(Defaults).detection
    detection = next(each for each in (given, keys.detection, usual) if each is not None)
    found = Outages(
        planned=tuple(outage for outage, _ in reader.planned),
        random=tuple(reader.random),
        recovery=Recovery((asked.on_failure or keys.on_failure) == MIGRATE, float(detection)),
        seed=seed,
    )
    return found if found.planned or found.random else None


class _Wish:
    """What is being read; planned: with the words to name each by."""

    def __init__(self, pools: Mapping[str, Crew] | None) -> None:
        self.pools = pools
        self.findings: list[Finding] = []
        self.planned: list[tuple[Outage, Finding]] = []
        self.random: list[Chance] = []

    def fault(self, key: str, message: str, line: int | None = None) -> None:
        self.findings.append(Finding(key, message, line))

    def seconds(self, key: str, text: str | None, of: str = "") -> Seconds | None:
        """A duration, s; of: the words it stands in."""
        found = None if text is None else Seconds.read(text)
        if isinstance(found, str):
            self.fault(key, f"{of[:LONGEST]}: {found}" if of else found)
            return None
        return found

    def which(self, key: str, text: str, line: int | None = None) -> tuple[str, range] | None:
        """Pool and replicas of `serve:3`, `serve:0-3` or `serve:*`."""
        role, colon, numbers = (part.strip() for part in text.partition(":"))
        match = WHICH.fullmatch(numbers)
        if not colon or match is None:
            form = "expected ROLE:REPLICA, as in serve:3, serve:0-3 or serve:*"
            self.fault(key, f"{form}, found {text[:LONGEST]!r}", line)
            return None
        first = int(match[1] or 0)
        if self.pools is None:
            return role, range(first, first)
        pool = self.pools.get(role)
        if pool is None:
            self.findings.append(unknown(key, role[:LONGEST], self.pools, line))
            return None
        last = int(match[2] or match[1] or pool.replicas - 1)
        if first <= last < pool.replicas:
            return role, range(first, last + 1)
        have = f"0 to {pool.replicas - 1:,}" if pool.replicas > 1 else "0 alone"
        self.fault(key, f"{text[:LONGEST]}: {role} has replica {have}, in rising order", line)
        return None

    def flag(self, key: str, text: str) -> None:
        """One of --fail and --drain."""
        name, begins, times = (part.strip() for part in text.partition("@"))
        begin, plus, lasts = (part.strip() for part in times.partition("+"))
        if not (begins and begin and (lasts or not plus)):
            self.fault(key, f"expected {FORM}, found {text[:LONGEST]!r}")
            return
        found, at = self.which(key, name), self.seconds(key, begin, text)
        length = self.seconds(key, lasts, text) if plus else None
        if found is None or at is None or (plus and length is None):
            return
        place = Finding(key, text[:LONGEST])
        if key == "--fail":
            self.fails(place, found, FailKeys(replica=name, at=at, lasts=length))
        else:
            self.drains(place, found, DrainKeys(replica=name, at=at, restart=length))

    def fails(self, place: Finding, which: tuple[str, range], asked: FailKeys) -> None:
        """Replicas fail together."""
        role, replicas = which
        length = math.inf if asked.lasts is None else float(asked.lasts)
        for replica in replicas:
            outage = Outage(time=float(asked.at), role=role, replica=replica, length=length)
            self.planned.append((outage, place))

    def drains(self, place: Finding, which: tuple[str, range], asked: DrainKeys) -> None:
        """The first replicas are drained; the others follow them."""
        role, replicas = which
        if self.pools is None:
            return
        restart = self.pools[role].start_up if asked.restart is None else asked.restart
        for replica in replicas[: asked.together]:
            outage = Outage(
                time=float(asked.at),
                role=role,
                replica=replica,
                drain=True,
                length=float(restart),
                stride=asked.together,
                end=replicas.stop,
                pause=float(asked.pause),
            )
            self.planned.append((outage, place))

    def file(self, path: str) -> EventKeys:
        """The events of a file."""
        document = catalog.read(path)
        reader = Reader(document.file)
        keys = reader.record(document, EventKeys, "", ())
        self.findings += sorted(reader.findings, key=lambda each: each.line or 0)
        if keys is None:
            return EventKeys()
        for place, fail in _rows(document, "fail", keys.fail):
            if (found := self.which(f"{place.key}.replica", fail.replica, place.line)) is not None:
                self.fails(place, found, fail)
        for place, drain in _rows(document, "drain", keys.drain):
            if (found := self.which(f"{place.key}.replica", drain.replica, place.line)) is not None:
                self.drains(place, found, drain)
        for place, chance in _rows(document, "random", keys.random):
            self.chance(place, chance)
        return cast(EventKeys, keys)

    def chance(self, place: Finding, asked: RandomKeys) -> None:
        """Random failures of a pool."""
        if self.pools is None:
            return
        pool = self.pools.get(asked.pool)
        if pool is None:
            key = f"{place.key}.pool"
            self.findings.append(unknown(key, asked.pool[:LONGEST], self.pools, place.line))
            return
        if (asked.mtbf is None) == (asked.gpu_mtbf is None):
            self.fault(place.key, "give mtbf of a replica, or gpu_mtbf of a GPU", place.line)
            return
        mtbf = (asked.gpu_mtbf or 0.0) / pool.gpus if asked.mtbf is None else float(asked.mtbf)
        if mtbf < LEAST_MTBF:
            text = f"a replica would fail every {Seconds(mtbf)}; expected 1 s or more"
            self.fault(place.key, text, place.line)
            return
        self.random.append(Chance(role=asked.pool, mtbf=mtbf, repair=float(asked.repair)))

    def overlaps(self) -> None:
        """Refuse what is to happen to a replica that is out by then."""
        out: dict[tuple[str, int], Outage] = {}
        for outage, place in sorted(self.planned, key=lambda each: each[0].order):
            at = outage.role, outage.replica
            before = out.get(at)
            back = before.time + before.length if before else -math.inf
            if before is None or (outage.time >= back and outage.time > before.time):
                out[at] = outage
                continue
            until = f"to {Seconds(back)}" if math.isfinite(back) else "on"
            text = f"{outage.role}:{outage.replica} is out already, from {Seconds(before.time)}"
            what = f"{place.message}: " if place.message else ""
            self.fault(place.key, f"{what}{text} {until}", place.line)


def _rows(document: Node, name: str, rows: Iterable[T]) -> Iterator[tuple[Finding, T]]:
    """Each row of a list with its place."""
    node = document.value.get(name)
    for index, (row, each) in enumerate(zip(rows, node.value if node else (), strict=True)):
        yield Finding(f"{name}[{index}]", "", each.line), row
