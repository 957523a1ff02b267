"""A trace: what arrives when, as arrays a compiled loop can walk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from racktwin.serving.prefix import cached
from racktwin.serving.ragged import Ragged
from racktwin.serving.traffic import Traffic

COLUMNS = {
    "arrival": np.float64,
    "input": np.int64,
    "output": np.int64,
    "priority": np.int64,
    "model": np.int16,
    "session": np.int64,
    "after": np.int64,
    "pause": np.float64,
    "encoder": np.int64,
    "slo_class": np.int64,
    "images": np.int64,
}
NONE = ("session", "after", "slo_class")  # -1 where there is none


class Skipped(msgspec.Struct, frozen=True):
    """Lines left out for one reason: how many, and the first of their numbers."""

    reason: str
    count: int
    lines: tuple[int, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.lines) else ""
        word = "line" if self.count == 1 else "lines"
        shown = ", ".join(f"{line:,}" for line in self.lines)
        return f"{self.count:,} {word} skipped: {self.reason} ({word} {shown}{more})"


class Trace(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """n requests in order of arrival, or a stretch of a longer stream of them.

    arrival: s from the start of the stream. input, output: tokens, at least 1. priority: smaller is
    served first. model: index into `models`. session: -1 for none.
    after: index in the stream of the request whose completion releases this one, -1 for none; it
    always comes before. pause: s from that completion; `arrival` is then a lower bound.
    encoder: tokens of the input that an image encoder makes, of `images` images of equal size (0:
    of one, where there are such tokens). slo_class: index into `classes`, -1 for none.
    blocks, starts: ids of the prefix blocks of request i, blocks[starts[i]:starts[i + 1]], one for
    each `block_size` tokens of its input, the last perhaps part full; equal ids are equal text
    behind equal text. block_size 0: the trace says nothing of its prefixes.
    first: index in the stream of the first request here.
    skipped, warnings: of the stream up to here; the last stretch has them all.
    """

    arrival: NDArray[np.float64]
    input: NDArray[np.int64]
    output: NDArray[np.int64]
    priority: NDArray[np.int64]
    model: NDArray[np.int16]
    session: NDArray[np.int64]
    after: NDArray[np.int64]
    pause: NDArray[np.float64]
    encoder: NDArray[np.int64]
    slo_class: NDArray[np.int64]
    images: NDArray[np.int64]
    blocks: NDArray[np.int64]
    starts: NDArray[np.int64]
    block_size: int = 0
    first: int = 0
    models: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    name: str = ""
    source: str = ""
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(arrival: ArrayLike, input: ArrayLike, output: ArrayLike, **rest: Any) -> Trace:
        """A trace from columns of equal length; the others default to none.

        arrival: s, rising. input, output: tokens. prefix: `Ragged` ids of prefix blocks.
        """
        rest |= {"arrival": arrival, "input": input, "output": output}
        given = {name: rest.pop(name) for name in COLUMNS if name in rest}
        columns = {name: np.asarray(each, COLUMNS[name]) for name, each in given.items()}
        count = len(columns["arrival"])
        for name in COLUMNS.keys() - columns.keys():
            columns[name] = np.full(count, -1 if name in NONE else 0, COLUMNS[name])
        prefix = rest.pop("prefix", None) or Ragged.empty(count)
        rest |= columns | {"blocks": prefix.values, "starts": prefix.starts}
        return Trace(**rest)

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def prefix(self) -> Ragged:
        """Prefix blocks by request."""
        return Ragged(self.blocks, self.starts)

    @property
    def cached(self) -> NDArray[np.int64]:
        """Input tokens of each request that an endless prefix cache would hold."""
        return cached(self.prefix, self.block_size, self.input)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the trace was read, one sentence each."""
        return (*map(str, self.skipped), *self.warnings)

    @property
    def duration(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.arrival[-1] - self.arrival[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Mean arrivals, requests/s; inf when all arrive at once."""
        if len(self) < 2:
            return 0.0
        return (len(self) - 1) / self.duration if self.duration else float("inf")

    def part(self, start: int, stop: int | None = None) -> Trace:
        """Requests start to stop of this stretch, without copying the columns."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        columns = {name: getattr(self, name)[start:stop] for name in COLUMNS}
        prefix = self.prefix.part(start, stop)
        first = self.first + start
        return self.having(**columns, blocks=prefix.values, starts=prefix.starts, first=first)

    def take(self, rows: NDArray[np.int64]) -> Trace:
        """The requests at these indices, in that order; `after` is left as it is."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        prefix = self.prefix.take(rows)
        return self.having(**columns, blocks=prefix.values, starts=prefix.starts)

    def having(self, **changed: Any) -> Trace:
        """The same trace with other values in some fields."""
        return msgspec.structs.replace(self, **changed)

    def scaled(self, scale: float) -> Trace:
        """Arrivals `scale` times as fast (1); pauses, which users and tools make, stay."""
        return self.having(arrival=self.arrival / scale)

    def unpaced(self) -> Trace:
        """The whole trace with turns that wait for completions and pauses, not for recorded times.

        Their arrival is then the earliest that can be: were every answer there at once.
        """
        arrival = self.arrival.copy()
        for row in np.flatnonzero(self.after >= 0):
            arrival[row] = arrival[self.after[row]] + self.pause[row]
        order = np.argsort(arrival, kind="stable")
        place = np.concatenate([np.argsort(order), [-1]])  # the last answers for -1
        return self.having(arrival=arrival, after=place[self.after]).take(order)

    def rates(self, step: float) -> NDArray[np.float64]:
        """Arrivals in each `step` seconds from the start, requests/s."""
        bins = np.bincount((self.arrival // step).astype(np.int64)) if len(self) else np.zeros(1)
        return bins / step

    def traffic(self) -> Traffic:
        """Mean tokens of a request, and the share of its input an endless cache would hold."""
        mean = self.output.mean()
        images = np.maximum(self.images, self.encoder > 0).sum()
        return Traffic(
            input=float(self.input.mean()),
            output=float(mean),
            prefix_hit=float(self.cached.sum() / self.input.sum()),
            variation=float(self.output.var() / mean**2),
            images=float(images / len(self)),
            image_tokens=float(self.encoder.sum() / max(images, 1)),
        )


def join(parts: Iterable[Trace]) -> Trace:
    """The whole stream from its stretches in order; notes are those of the last."""
    parts = list(parts)
    if not parts:
        return Trace.of([], [], [])
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    prefix = Ragged.join([part.prefix for part in parts])
    first = parts[0].first
    return parts[-1].having(**columns, blocks=prefix.values, starts=prefix.starts, first=first)


def cut(stream: Iterable[Trace], chunk: int) -> Iterator[Trace]:
    """The same stream in stretches of `chunk` requests, the last perhaps shorter or empty."""
    waiting: list[Trace] = []
    count, told = 0, None
    for part in stream:
        waiting.append(part)
        count += len(part)
        if count >= chunk:
            whole = join(waiting)
            for start in range(0, count - chunk + 1, chunk):
                yield whole.part(start, start + chunk)
            waiting = [whole.part(count - count % chunk)]
            count %= chunk
            told = whole.notes
    if count or (waiting and waiting[-1].notes != told):
        yield join(waiting)


def limited(
    stream: Iterable[Trace], requests: int | None = None, duration: float | None = None
) -> Iterator[Trace]:
    """The first `requests` requests, and none that arrive at `duration`, s, or later."""
    left = requests
    for part in stream:
        stop = len(part) if left is None else min(left, len(part))
        if duration is not None:
            stop = min(stop, int(np.searchsorted(part.arrival, duration)))
        yield part.part(0, stop)
        if stop < len(part):
            return
        left = None if left is None else left - stop
        if left == 0:
            return
