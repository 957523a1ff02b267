"""Generated traffic: what every kind of it can do, whatever its requests are drawn from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Self

import msgspec

from racktwin.catalog.bounds import Number
from racktwin.finding import BadInput, Finding
from racktwin.serving.arrivals import Arrivals
from racktwin.serving.slo_class import SloClass
from racktwin.serving.trace import Trace, cut, join, limited
from racktwin.serving.traffic import Traffic
from racktwin.units import Rate

CHUNK = 1 << 16  # requests
SAMPLE = 20_000  # requests whose means stand for all
Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class Generated(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic of any length from its statistics.

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
    requests: Size = 10_000
    context: Size = 0
    prompt: Number = 0
    block_size: Number = 0
    fit: dict[str, float] = {}

    @property
    def turns(self) -> float:
        """Mean requests of a session (1)."""
        raise NotImplementedError

    @property
    def slo_classes(self) -> tuple[SloClass, ...]:
        """The classes its requests have, each with limits of its own."""
        return ()

    def steady(self, law: Arrivals) -> Self:
        """The same requests by this law of arrivals."""
        return msgspec.structs.replace(self, arrivals=law)

    def at(self, rate: float | None = None, scale: float = 1.0) -> Self:
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
        return cut(limited(self.at(rate, scale).stretches(seed), requests, duration), chunk)

    def trace(self, requests: int | None = None, *, seed: int = 0) -> Trace:
        """One trace of `requests` requests."""
        return join(self.generate(requests, seed=seed))

    def traffic(self) -> Traffic:
        """Mean lengths in tokens, and prefix hits of an endless cache."""
        return self.trace(SAMPLE).traffic()

    def stretches(self, seed: int, stream: int | None = None) -> Iterator[Trace]:
        """The endless stream, in order of arrival; each number `stream` is another draw."""
        raise NotImplementedError


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
