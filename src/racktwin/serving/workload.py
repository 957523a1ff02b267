"""Workloads: traffic by name or from a file, made up to any length from its statistics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from racktwin import catalog
from racktwin.catalog.bounds import Number
from racktwin.finding import BadInput, Finding
from racktwin.serving.arrivals import Arrivals, clock, gaps
from racktwin.serving.lengths import Lengths, mean
from racktwin.serving.merge import Arriving, Merge
from racktwin.serving.ragged import Ragged, ends
from racktwin.serving.sessions import Class, calls
from racktwin.serving.trace import Trace, cut, join, limited
from racktwin.serving.traffic import Traffic
from racktwin.units import Rate

CHUNK = 1 << 16  # requests
PAGE = 1 << 14  # requests drawn from one seed; results depend on it
SAMPLE = 20_000  # requests whose means stand for the workload's
Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic: sessions of several classes that arrive by one law.

    kind, source, date, note: where its figures are from. requests: size of the sample they were
    fitted to. context: the longest input and output together, tokens, 0 for any. prompt: tokens
    that all inputs begin with. block_size: tokens per prefix block, 0 for no blocks.
    fit: how far generated traces are from the sample (1), see docs/reference/workloads.md.
    """

    title: str
    kind: str = "assumed"
    source: str = ""
    date: str = ""
    note: str = ""
    name: str = ""
    arrivals: Arrivals = Arrivals()
    classes: tuple[Class, ...]
    requests: Size = 10_000
    context: Size = 0
    prompt: Number = 0
    block_size: Number = 0
    fit: dict[str, float] = {}

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

    def at(self, rate: float | None = None, scale: float = 1.0) -> Workload:
        """The same requests at another mean rate, requests/s, or `scale` (1) times as fast."""
        new = (self.arrivals.rate if rate is None else rate) * scale
        if not 0 < new < math.inf:
            raise BadInput([Finding("rate", f"{new:g} requests/s; expected more than 0")])
        arrivals = msgspec.structs.replace(self.arrivals, rate=Rate(new))
        return msgspec.structs.replace(self, arrivals=arrivals)

    def generate(
        self,
        requests: int | None = None,
        duration: float | None = None,
        *,
        seed: int = 0,
        rate: float | None = None,
        scale: float = 1.0,
        chunk: int = CHUNK,
    ) -> Iterator[Trace]:
        """Stretches of `chunk` requests, until there are `requests` or `duration` s have passed.

        Without either, as many as the sample had. The same seed gives the same requests,
        whatever the chunk, and a longer run begins with a shorter one's. rate, requests/s, and
        scale (1) change arrivals only. Offline and closed loads come at 0, so only `requests`
        ends them.
        """
        _check_asked(requests, duration, seed, chunk)
        timeless = self.arrivals.law in ("offline", "closed")
        if requests is None and (duration is None or timeless):
            requests = self.requests
        return cut(limited(self.at(rate, scale)._stretches(seed), requests, duration), chunk)

    def trace(self, requests: int | None = None, *, seed: int = 0) -> Trace:
        """One trace of `requests` requests."""
        return join(self.generate(requests, seed=seed))

    def traffic(self) -> Traffic:
        """Mean lengths in tokens, and prefix hits of an endless cache."""
        return self.trace(SAMPLE).traffic()

    def _stretches(self, seed: int) -> Iterator[Trace]:
        """The endless stream, in order of arrival."""
        turns = self.turns
        starting = msgspec.structs.replace(self.arrivals, rate=Rate(self.arrivals.rate / turns))
        size = math.ceil(PAGE / turns)
        work, drawn_so_far, merge = 0.0, 0, Merge()
        for page in itertools.count():
            times, sizes = np.random.SeedSequence(seed, spawn_key=(page,)).spawn(2)
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


def _check_asked(requests: int | None, duration: float | None, seed: int, chunk: int) -> None:
    faults = {
        "requests": requests is not None and requests < 1,
        "duration": duration is not None and not 0 < duration < math.inf,
        "seed": seed < 0,
        "chunk": chunk < 1,
    }
    if any(faults.values()):
        wrong = [name for name, bad in faults.items() if bad]
        raise BadInput([Finding(name, "expected a finite number above 0") for name in wrong])


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
