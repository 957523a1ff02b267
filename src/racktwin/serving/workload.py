"""Workloads: traffic by name or from a file, made up to any length from its statistics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from racktwin import catalog
from racktwin.finding import BadInput, Finding
from racktwin.serving.arrivals import clock, gaps
from racktwin.serving.generated import Generated
from racktwin.serving.lengths import Lengths, mean
from racktwin.serving.merge import Arriving, Merge
from racktwin.serving.ragged import Ragged, ends
from racktwin.serving.sessions import Class, calls
from racktwin.serving.trace import Trace
from racktwin.units import Rate

PAGE = 1 << 14  # requests drawn from one seed; results depend on it


class Workload(Generated, frozen=True, kw_only=True):
    """Traffic: sessions of several classes that arrive by one law."""

    classes: tuple[Class, ...]

    @property
    def turns(self) -> float:
        """Mean requests of a session (1), before any is left out for its length."""
        shares = sum(each.share for each in self.classes)
        return (
            sum(
                each.share * (mean(each.turns.count) if each.turns else 1.0)
                for each in self.classes
            )
            / shares
        )

    def stretches(self, seed: int, stream: int | None = None) -> Iterator[Trace]:
        """The endless stream, in order of arrival; each number `stream` is another draw."""
        turns = self.turns
        starting = msgspec.structs.replace(self.arrivals, rate=Rate(self.arrivals.rate / turns))
        size = math.ceil(PAGE / turns)
        work, drawn_so_far, merge = 0.0, 0, Merge()
        for page in itertools.count():
            key = (page,) if stream is None else (page, stream)
            times, sizes = np.random.SeedSequence(seed, spawn_key=key).spawn(2)
            reached = work + np.cumsum(gaps(starting, np.random.default_rng(times), size))
            work, start = float(reached[-1]), clock(starting, reached)
            drawn = calls(self.classes, np.random.default_rng(sizes), size, self.context)
            left = merge.left
            ready = merge.leave(Arriving.of(drawn, start, page * size, drawn_so_far), start[-1])
            drawn_so_far += len(drawn.turn)
            yield self._trace(ready, left)

    def _trace(self, ready: Arriving, first: int) -> Trace:
        several = any(each.turns for each in self.classes)
        return Trace.of(
            ready.arrival,
            ready.input,
            ready.output,
            encoder=ready.encoder,
            images=ready.images,
            session=ready.session if several else np.full(len(ready), -1),
            after=ready.after,
            pause=ready.pause,
            prefix=self._prefix(ready) if self.block_size else None,
            block_size=self.block_size,
            first=first,
            name=self.name,
            source=self.source,
        )

    def _prefix(self, ready: Arriving) -> Ragged:
        """Ids: the common prompt's, the session's by position, one of its own for a part block."""
        size = self.block_size
        counts = -(-ready.input // size)
        starts = ends(counts)
        position = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        ids = np.repeat((ready.session + 1) << 24, counts) + position
        common = position < self.prompt // size
        ids[common] = position[common]
        part = np.flatnonzero(ready.input % size)
        ids[starts[1:][part] - 1] = (1 << 62) | ready.serial[part]
        return Ragged(ids, starts)


def workload(name: str | Path) -> Workload:
    """The workload called `name` in the catalog, or described in a file at this path."""
    entry = catalog.load("workloads", name)
    built = msgspec.structs.replace(entry.build(Workload), name=entry.name)
    if findings := check(built):
        raise BadInput(findings, str(name))
    return built


def check(workload: Workload) -> list[Finding]:
    """Everything that is wrong with the figures of a workload."""
    faults = {"arrivals": workload.arrivals.fault}
    if not sum(each.share for each in workload.classes):
        faults["classes"] = "there must be one with a share above 0"
    for index, each in enumerate(workload.classes):
        laws = {"input": each.input, "output": each.output}
        for group in (each.turns, each.images):
            laws |= msgspec.structs.asdict(group) if group else {}
        of = f"classes[{index}]"
        faults |= {f"{of}.{k}": law.fault for k, law in laws.items() if isinstance(law, Lengths)}
    return [Finding(key, fault) for key, fault in faults.items() if fault]


def names() -> list[str]:
    """Names of the workloads that ship."""
    return catalog.names("workloads")
