"""Batch: requests as they stand in a file, in columns, before they are checked and ordered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.columns import Columns
from racktwin.serving.ragged import Ragged
from racktwin.serving.traces.reading import Reading

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAN = float("nan")
MOST = 10**9  # tokens of a request


class Batch(Columns, frozen=True, eq=False):
    """Requests in columns: what a `lines.Row` says, times in s, and more.

    line: where they stand; follows: the line of the request that this one waits for, -1 for none
    or unknown. slo_class: -1 for none. encoder: input tokens from images. images: how many.
    """

    line: Ints
    arrival: Floats
    input: Floats
    output: Floats
    end: Floats
    pause: Floats
    session: Ints
    parent: Ints
    priority: Ints
    model: Ints
    follows: Ints
    slo_class: Ints
    encoder: Ints
    images: Ints
    prefix: Ragged

    @staticmethod
    def of(line: Ints, arrival: Floats, input: Floats, output: Floats, **rest: Any) -> Batch:
        """Requests of which perhaps only the time (s) and the lengths (tokens) are known."""
        count = len(line)
        for name in ("end", "pause"):
            rest.setdefault(name, np.full(count, NAN))
        for name in ("session", "parent", "model", "follows", "slo_class"):
            rest.setdefault(name, np.full(count, -1))
        for name in ("priority", "encoder", "images"):
            rest.setdefault(name, np.zeros(count, np.int64))
        rest.setdefault("prefix", Ragged.empty(count))
        return Batch(line=line, arrival=arrival, input=input, output=output, **rest)

    @staticmethod
    def even(rate: float, input: Floats, output: Floats) -> Batch:
        """Requests of these lengths, tokens, at even gaps and `rate` requests/s; 0: all at once."""
        place = np.arange(len(input))
        arrival = place / rate if 0 < rate < np.inf else np.zeros(len(place))
        return Batch.of(place + 1, arrival, input, output)

    def usable(self, reading: Reading) -> Batch:
        """The requests that can be served; the rest are skipped under the first reason found."""
        left = np.ones(len(self), np.bool_)
        with np.errstate(invalid="ignore"):
            for reason, bad in self._faults(reading):
                if (bad & left).any():
                    reading.skip(reason, self.line[bad & left])
                    left &= ~bad
        return self if left.all() else self.take(left)

    def _faults(self, reading: Reading) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        yield "no finite time", ~np.isfinite(self.arrival)
        yield "a time before 0", self.arrival < 0
        for name, tokens in (("input", self.input), ("output", self.output)):
            whole = np.isfinite(tokens) & (tokens == np.floor(tokens))
            yield f"no whole number of {name} tokens", ~whole
            yield f"{name} of less than 1 token", tokens < 1
            yield f"{name} of more than {MOST:,} tokens", tokens > MOST
        bad = (self.encoder < 0) | (self.encoder > self.input) | (self.images < 0)
        yield "image tokens that are no part of the input", bad
        if limit := reading.limit:
            longest = f"input and output longer than {limit:,} tokens"
            yield longest, self.input + self.output > limit
        if size := reading.block_size:
            reason = f"hash ids do not cover the input in blocks of {size}"
            yield reason, np.ceil(self.input / size) != self.prefix.lengths
