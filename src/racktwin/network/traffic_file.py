"""A file of jobs -> Traffic: every fault of the file at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from racktwin import catalog, hardware
from racktwin.catalog.bounds import Count, Number
from racktwin.catalog.document import Node
from racktwin.catalog.shape import Reader
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.network.fault import Fault, read_faults
from racktwin.network.load import COLLECTIVES
from racktwin.network.problem import Ints
from racktwin.network.routing import CONTROLS, ROUTINGS, Control, Routing
from racktwin.network.topology import Topology
from racktwin.network.traffic import Job, Pattern, Traffic
from racktwin.units import Bytes, Seconds

RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,6}))?)?")
MOST_FLOWS = 200_000  # in all jobs together, about a minute
MOST_RANGES = 10_000
MOST_JOBS = 100
MOST_LEVELS = 16  # InfiniBand has 15 data queues a port
MOST_ENTRIES = 20_000_000  # links of all classes
Weight = Annotated[float, msgspec.Meta(ge=0.001, le=1000.0)]


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A service level: higher priority first; a part of a fair share by weight (ratio)."""

    priority: Number = 0
    weight: Weight = 1.0


class JobKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A job as written; gpus, racks, to: numbers such as '0-71' or '0-4607:4'."""

    pattern: Pattern
    bytes: Bytes
    gpus: Any = None
    racks: Any = None
    to: Any = None
    start: Seconds = Seconds(0.0)
    over: Seconds = Seconds(0.0)
    repeat: Count = 1
    every: Seconds = Seconds(0.0)
    flows: Count | None = None
    level: str = ""


class TrafficKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The file; of jobs only their names."""

    cluster: str
    racks: Count | None = None
    nodes: Count | None = None
    routing: Routing = "adaptive"
    congestion: Control = "telemetry"
    isolation: bool = True
    faults: Any = None
    seed: Number = 0
    levels: dict[str, Level] = {}
    jobs: dict[str, JobKeys]


class Given(msgspec.Struct, frozen=True):
    """What a command line says instead of the file; draws: of hashes, count, at most `most`."""

    routing: str | None = None
    congestion: str | None = None
    faults: str | None = None
    draws: int = 1
    most: int = 1

    def findings(self) -> Iterator[Finding]:
        """What of it is not known."""
        if self.routing is not None and self.routing not in ROUTINGS:
            yield unknown("--routing", self.routing, ROUTINGS)
        if self.congestion is not None and self.congestion not in CONTROLS:
            yield unknown("--congestion", self.congestion, CONTROLS)
        if not 1 <= self.draws <= self.most:
            yield Finding("--draws", f"expected 1 to {self.most:,}, found {self.draws:,}")

    def after(self, routing: str) -> Iterator[Finding]:
        """What of it does not fit a file of that routing."""
        if self.draws > 1 and routing != "static":
            yield Finding("--draws", f"only static paths are drawn, and routing is {routing}")


def read_traffic(path: str | Path, given: Given | None = None) -> Traffic:
    """The traffic described in a file, but for what is given otherwise."""
    given = given or Given()
    if wrong := list(given.findings()):
        raise BadInput(wrong, str(path))
    node = catalog.read(path)
    reader = Reader(str(path))
    keys: TrafficKeys | None = reader.record(node, TrafficKeys, "", ())
    if keys is None:
        raise BadInput(sorted(reader.findings, key=lambda each: each.line or 0), str(path))
    cluster = _cluster(keys, Path(path))
    topology = Topology(cluster)
    broken = _faults(keys, topology, given.faults)
    made = _Jobs(node.value["jobs"], keys, topology)
    jobs = tuple(made.jobs())
    made.findings += given.after(given.routing or keys.routing)
    if made.findings:
        raise BadInput(sorted(made.findings, key=lambda each: each.line or 0), str(path))
    return Traffic(
        cluster=cluster,
        jobs=jobs,
        routing=given.routing or keys.routing,  # type: ignore[arg-type]
        control=given.congestion or keys.congestion,  # type: ignore[arg-type]
        isolated=keys.isolation,
        faults=broken,
        seed=keys.seed,
    )


def _cluster(keys: TrafficKeys, path: Path) -> Cluster:
    """The cluster by name, or from a file beside this one."""
    name: str | Path = keys.cluster
    if catalog.is_path(keys.cluster):
        name = path.parent / keys.cluster
    return hardware.cluster(name, keys.racks, keys.nodes)


def _faults(keys: TrafficKeys, topology: Topology, given: str | None) -> tuple[Fault, ...]:
    if given is not None:
        return read_faults(given, topology)
    written = keys.faults if keys.faults is not None else ""
    if isinstance(written, list):
        written = ",".join(str(each) for each in written)
    return read_faults(str(written), topology, "faults")


class _Jobs:
    """Reads jobs one by one and collects what is wrong with them."""

    def __init__(self, node: Node, keys: TrafficKeys, topology: Topology) -> None:
        self.node, self.keys, self.topology = node, keys, topology
        self.levels = list(keys.levels)
        self.findings: list[Finding] = []
        self.total = self.entries = 0

    def add(self, key: str, message: str) -> None:
        """Note a fault of jobs.NAME.KEY."""
        node = self.node
        for word in key.split(".")[1:]:
            node = node.get(word) or node
        self.findings.append(Finding(key, message, node.line))

    def jobs(self) -> Iterator[Job]:
        """Each job whose keys fit together."""
        if not self.keys.jobs:
            self.add("jobs", "there are none")
        for key, what, most in (
            ("jobs", self.keys.jobs, MOST_JOBS),
            ("levels", self.keys.levels, MOST_LEVELS),
        ):
            if len(what) > most:
                self.add(key, f"{len(what):,} {key} are more than {most}")
        if self.findings:
            return
        for name, keys in self.keys.jobs.items():
            before = len(self.findings)
            job = self._job(name, keys)
            if len(self.findings) == before:
                self._count(job)
                yield job

    def _job(self, name: str, keys: JobKeys) -> Job:
        here = f"jobs.{name}"
        gpus = self._senders(here, keys)
        to = self._gpus(f"{here}.to", keys.to) if keys.to is not None else np.zeros(0, np.int64)
        level = Level()
        if keys.level and keys.level not in self.keys.levels:
            self.add(f"{here}.level", unknown("", keys.level, self.levels).message)
        elif keys.level:
            level = self.keys.levels[keys.level]
        self._fit(here, keys, gpus, to)
        return Job(
            name=name,
            pattern=keys.pattern,
            gpus=gpus,
            to=to,
            size=float(keys.bytes),
            start=float(keys.start),
            over=float(keys.over),
            repeat=keys.repeat,
            every=float(keys.every),
            flows=keys.flows or 0,
            level=self.levels.index(keys.level) + 1 if keys.level in self.levels else 0,
            priority=level.priority,
            weight=level.weight,
        )

    def _fit(self, here: str, keys: JobKeys, gpus: Ints, to: Ints) -> None:
        """Whether the pattern has what it needs, and no more."""
        if keys.bytes <= 0:
            self.add(f"{here}.bytes", "nothing to send; give a size such as '64 MB'")
        chip = self.topology.cluster.chip
        if keys.pattern in COLLECTIVES and keys.bytes > chip.memory_usable:
            room = f"a {chip.title} has {Bytes(chip.memory_usable)}"
            self.add(f"{here}.bytes", f"a buffer of {keys.bytes} does not fit: {room}")
        if keys.pattern in ("incast", "transfer") and keys.to is None:
            word = "an incast" if keys.pattern == "incast" else "a transfer"
            self.add(f"{here}.to", f"is missing: {word} needs receivers")
        if keys.to is not None and keys.pattern not in ("incast", "transfer", "random"):
            self.add(f"{here}.to", f"{keys.pattern} has no receivers of its own")
        if (keys.flows is None) == (keys.pattern == "random"):
            need = "is missing: how many" if keys.flows is None else f"{keys.pattern} sets its own"
            self.add(f"{here}.flows", need)
        if keys.over and keys.pattern != "random":
            self.add(f"{here}.over", f"flows of {keys.pattern} start together")
        if keys.repeat > 1 and not keys.every:
            self.add(f"{here}.every", "is missing: time from one repetition to the next")
        if keys.every and keys.repeat == 1:
            self.add(f"{here}.every", "says nothing without repeat: how often")
        if keys.pattern == "transfer" and len(gpus) and len(to):
            self._pairs(here, gpus, to)
        alone = not len(gpus[~np.isin(gpus, to)]) if len(to) else len(gpus) < 2
        if alone:
            self.add(f"{here}.gpus", "nobody to send to; name at least two GPUs")

    def _pairs(self, here: str, gpus: Ints, to: Ints) -> None:
        """Whether the first can send to the first, the second to the second, and so on."""
        if len(gpus) != len(to):
            counts = f"{len(gpus):,} senders and {len(to):,} receivers"
            self.add(f"{here}.to", f"a transfer needs as many of both, found {counts}")
        elif (gpus == to).any():
            self.add(f"{here}.to", f"GPU {int(gpus[gpus == to][0]):,} would send to itself")

    def _count(self, job: Job) -> None:
        """Refuse what would not fit in memory."""
        each = 1 if job.collective else job.flows or max(len(job.gpus), len(job.to))
        self.total += each * job.repeat
        links = 4 * self.topology.gpus + 2 * self.topology.leaves * self.topology.tree.up
        self.entries += job.repeat * (links if job.collective else 8 * each)
        if self.total > MOST_FLOWS or self.entries > MOST_ENTRIES:
            what = f"more than {MOST_FLOWS:,} flows" if self.total > MOST_FLOWS else "too much"
            key, less = ("repeat", "repeat less") if job.repeat > 1 else ("flows", "ask for fewer")
            self.add(f"jobs.{job.name}.{key}", f"{what} in all jobs together; {less}")

    def _senders(self, here: str, keys: JobKeys) -> Ints:
        if keys.gpus is not None and keys.racks is not None:
            self.add(f"{here}.racks", "give gpus or racks, not both")
        if keys.racks is None:
            return self._gpus(f"{here}.gpus", "all" if keys.gpus is None else keys.gpus)
        cluster = self.topology.cluster
        racks = self._numbers(f"{here}.racks", keys.racks, cluster.racks, "rack")
        each = cluster.gpus_per_rack
        found = (racks[:, None] * each + np.arange(each)).ravel()
        return found[found < cluster.gpus]

    def _gpus(self, key: str, text: Any) -> Ints:
        return self._numbers(key, text, self.topology.gpus, "GPU")

    def _numbers(self, key: str, text: Any, count: int, noun: str) -> Ints:
        """'0-71,144-215:2' as numbers below `count`, in order and once each."""
        words = [each.strip() for each in str(text).split(",")]
        if words == ["all"]:
            return np.arange(count)
        if isinstance(text, bool | dict | list) or len(words) > MOST_RANGES:
            self.add(key, f"expected numbers such as '0-71' or 'all', found {str(text)[:40]!r}")
            return np.zeros(0, np.int64)
        found: set[int] = set()
        for word in words:
            match = RANGE.fullmatch(word)
            first, last, step = match.groups() if match else ("", None, None)
            low, high, by = int(first or -1), int(last or first or -1), int(step or 1)
            if match is None or high < low or by < 1:
                self.add(key, f"expected numbers such as '0-71' or '0-71:4', found {word[:40]!r}")
            elif high >= count:
                self.add(key, f"{noun} {high:,} does not exist; there are 0 to {count - 1:,}")
            else:
                found.update(range(low, high + 1, by))
        return np.array(sorted(found), np.int64)
