"""ServeGen client sets: for each client, rates over a day and lengths over its quarters.

A set is a folder or tar archive of pairs chunk-N-trace.csv (start of a window in s, requests/s,
CV of the gaps, law, its shape, its scale) and chunk-N-dataset.json (start in s -> lengths as the
text of a Python dict {tokens: share}, which is taken apart here and never evaluated).
Requests are drawn from them: in each window exactly as many as its rate says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

MEMBER = re.compile(r"(chunk-\d+)-(trace\.csv|dataset\.json)")
MOST = 10**8  # requests drawn from a set
Floats = NDArray[np.float64]


class Window(msgspec.Struct, frozen=True):
    """One client for some time: start, s; rate, requests/s; law of the gaps and its shape (1)."""

    start: float
    rate: float
    law: str
    shape: float


class Share(msgspec.Struct, frozen=True):
    """Lengths in tokens, and how many requests have at most that length, of all (1)."""

    tokens: Floats
    reached: Floats

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` lengths, tokens."""
        place = np.searchsorted(self.reached, rng.random(count) * self.reached[-1], side="right")
        drawn: Floats = self.tokens[np.minimum(place, len(self.tokens) - 1)]
        return drawn


class Client(msgspec.Struct, frozen=True):
    """windows, and lengths of input and output from a start in s on, as far as they are known."""

    windows: list[Window]
    lengths: dict[float, tuple[Share, Share]]

    def at(self, time: float) -> tuple[Share, Share]:
        """The lengths at a time, s; the nearest known ones where there are none."""
        before = [start for start in self.lengths if start <= time]
        return self.lengths[max(before, default=min(self.lengths))]


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """Requests of all clients, window by window."""
    clients = read(source, reading)
    starts = sorted({window.start for client in clients for window in client.windows})
    step = float(np.diff(starts).min()) if len(starts) > 1 else 600.0
    line = 0
    for index, start in enumerate(starts):
        rng = np.random.default_rng(np.random.SeedSequence(reading.seed, spawn_key=(index,)))
        drawn = [
            _draw(client, window, step, rng)
            for client in clients
            for window in client.windows
            if window.start == start and window.rate > 0
        ]
        if drawn:
            arrival, input, output = (np.concatenate(each) for each in zip(*drawn, strict=True))
            order = np.argsort(arrival, kind="stable")
            place = line + 1 + np.arange(len(order))
            line += len(order)
            yield Batch.of(place, arrival[order], input[order], output[order])


def read(source: Source, reading: Reading) -> list[Client]:
    """The clients of a set; those without lengths are left out and told."""
    files: dict[str, dict[str, bytes]] = {}
    for name, content in source.members():
        if match := MEMBER.fullmatch(name):
            files.setdefault(match[1], {})[match[2]] = content
    clients = []
    for name, pair in sorted(files.items()):
        try:
            lengths = _lengths(pair["dataset.json"])
            clients.append(Client(_windows(pair["trace.csv"]), lengths))
        except KeyError as missing:
            raise source.fault(f"{name}-{missing.args[0]} is missing") from missing
        except (ValueError, msgspec.MsgspecError) as error:
            raise source.fault(f"{name}: cannot be read: {error}") from error
    silent = [client for client in clients if not client.lengths]
    if silent:
        reading.remarks.append(f"{len(silent)} clients without lengths left out")
    clients = [client for client in clients if client.lengths]
    if not clients:
        raise source.fault("holds no ServeGen client (chunk-N-trace.csv, chunk-N-dataset.json)")
    return clients


def _windows(text: bytes) -> list[Window]:
    windows = []
    for line in text.decode().split():
        start, rate, _, law, shape, *_ = line.split(",")
        windows.append(Window(float(start), float(rate), law, float(shape or 0)))
    good = all(np.isfinite([w.start, w.rate, w.shape]).all() and w.rate >= 0 for w in windows)
    total = sum(window.rate for window in windows) * 86400
    if not good or not 0 <= total < MOST * 144:
        raise ValueError("rates must be finite and not negative")
    return windows


def _lengths(text: bytes) -> dict[float, tuple[Share, Share]]:
    quarters = msgspec.json.decode(text, type=dict[str, dict[str, str]])
    pairs = {
        float(start): (_share(each["input_tokens"]), _share(each["output_tokens"]))
        for start, each in quarters.items()
    }
    return {start: (i, o) for start, (i, o) in pairs.items() if i and o}


def _share(text: str) -> Share | None:
    """'{12: 0.25, 90: 0.75}' -> tokens and shares reached; None for '{}'."""
    inside = text.strip()
    if not (inside.startswith("{") and inside.endswith("}")):
        raise ValueError(f"{text[:40]!r} is not a table of lengths")
    if inside == "{}":
        return None
    pairs = [pair.split(":") for pair in inside[1:-1].split(",")]
    table = np.array([(float(tokens), float(share)) for tokens, share in pairs])
    if not (np.isfinite(table).all() and (table >= 0).all() and table[:, 1].sum() > 0):
        raise ValueError("lengths and shares must be finite and not negative")
    return Share(table[:, 0], np.cumsum(table[:, 1]))


def _draw(
    client: Client, window: Window, step: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Arrivals (s), input and output (tokens) of one client in one window of `step` s."""
    count = round(window.rate * step)
    if window.law == "Weibull" and window.shape > 0:
        gaps = rng.weibull(window.shape, count + 1)
    else:
        gaps = rng.standard_gamma(window.shape or 1.0, count + 1)
    reached = np.cumsum(gaps)
    input, output = client.at(window.start)
    arrival = window.start + step * reached[:-1] / reached[-1]
    return arrival, input.draw(rng, count), output.draw(rng, count)
