"""Reading a trace: whole, or in stretches of a file of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from racktwin.serving.trace import Trace, cut, join
from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.formats import recognise
from racktwin.serving.traces.link import Links
from racktwin.serving.traces.order import ordered, within
from racktwin.serving.traces.profile import Profile
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

CHUNK = 1 << 16  # requests


def load(path: str | Path, *, limit: int | None = None, seed: int = 0) -> Trace:
    """The whole trace in a file, sorted; `read` says the rest."""
    return join(_stretches(Source(path), Reading(limit, seed), None))


def read(
    path: str | Path, *, chunk: int = CHUNK, limit: int | None = None, seed: int = 0
) -> Iterator[Trace]:
    """The trace in a file, in stretches of `chunk` requests.

    Memory holds two or three stretches, whatever the size of the file. Lines that cannot be used
    are skipped; the last stretch tells how many and which. A line more than `chunk` requests out
    of order is one of them. limit: longest input and output together, tokens. seed: of formats
    that hold statistics instead of requests. BadInput when there is nothing to read.
    """
    return cut(_stretches(Source(path), Reading(limit, seed), chunk), chunk)


def _stretches(source: Source, reading: Reading, window: int | None) -> Iterator[Trace]:
    found = recognise(source)
    usable = (batch.usable(reading) for batch in found.batches(source, reading))
    links, profile, first = Links(), Profile(), 0
    ahead: Trace | None = None  # held back: notes are complete at the end only
    for batch in within(ordered(usable, reading, window), source):
        if ahead is not None:
            yield ahead
        if reading.origin is None and len(batch):
            reading.origin = float(batch.arrival[0])
        ahead = _trace(batch, first, links, reading, source)
        profile.add(ahead.arrival)
        first += len(batch)
    if ahead is None or not first:
        told = "; ".join(map(str, reading.skipped))
        raise source.fault(f"holds no usable request: {told}" if told else "holds no request")
    warnings = (*reading.warnings, *filter(None, [profile.warning()]))
    yield ahead.having(skipped=reading.skipped, warnings=warnings)


def _trace(batch: Batch, first: int, links: Links, reading: Reading, source: Source) -> Trace:
    after, pause = links.of(batch, first)
    return Trace.of(
        batch.arrival - (reading.origin or 0.0),
        batch.input,
        batch.output,
        priority=batch.priority,
        model=np.maximum(batch.model, 0),
        session=batch.session,
        after=after,
        pause=pause,
        encoder=batch.encoder,
        slo_class=batch.slo_class,
        images=batch.images,
        prefix=batch.prefix,
        block_size=reading.block_size,
        first=first,
        models=tuple(reading.models.known)[1:],
        classes=tuple(reading.classes.known)[1:],
        name=source.path.name,
        source=str(source.path),
        skipped=reading.skipped,
        warnings=reading.warnings,
    )
