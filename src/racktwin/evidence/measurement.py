"""A published measurement of a serving deployment, read into the terms of the twin."""

from __future__ import annotations

from typing import Literal

import msgspec

from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.hardware import cluster
from racktwin.models import model
from racktwin.models.precision import Precision
from racktwin.serving.traffic import Traffic

Figure = Literal["ttft", "tpot", "output_rate"]


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The load generator. waves: requests per concurrent client, the first ones all at once.

    spread: width of the lengths of answers over their mean, 1 (uniform; 0: all equal).
    held: steps the launch script holds a prompt back; polled: steps between two looks at the queue.
    crowded: whether the engine has one place less than there are clients.
    """

    waves: int = 10
    spread: float = 0.0
    held: float = 0.0
    polled: float = 0.0
    crowded: bool = False


class Doubt(msgspec.Struct, frozen=True):
    """Why some figures of a measurement are not trusted."""

    name: str
    of: tuple[Figure, ...]
    reason: str


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what ran, under which load, and what was measured.

    system: GPU system as the source names it; cluster, model, precision, engine: catalog names.
    parts: (part, format) of weights where the row says more than one format.
    kv: format of the cache. fraction: memory flag of the launch, 0 for the epoch's.
    scheduler: how the engine admits requests, '' for its default.
    constants: of the epoch that were others, by name (any unit, the constant's).
    concurrency: requests in flight over the whole deployment.
    ttft, tpot: means, s; output_rate: out tokens/s of the whole; None where not given.
    inferred: what of the above does not stand in the source. curve: rows that differ in load only.
    """

    id: str
    source: str
    line: int
    system: str
    cluster: str
    model: str
    precision: str
    parts: tuple[tuple[str, str], ...] = ()
    kv: str
    fraction: float = 0.0
    scheduler: str = ""
    engine: str
    constants: tuple[tuple[str, float], ...] = ()
    traffic: Traffic
    concurrency: float
    serve: Pool | None = None
    prefill: Pool | None = None
    decode: Pool | None = None
    client: Client = Client()
    ttft: float | None = None
    tpot: float | None = None
    output_rate: float | None = None
    curve: str = ""
    inferred: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools, in the order a request meets them."""
        return tuple(pool for pool in (self.serve, self.prefill, self.decode) if pool is not None)

    @property
    def gpus(self) -> int:
        """GPUs of the whole deployment."""
        return sum(pool.gpus for pool in self.pools)

    @property
    def stored(self) -> str:
        """Formats of the weights: 'fp8', 'fp8 with experts in int4'."""
        apart = [f"{part} in {each}" for part, each in self.parts if each != self.precision]
        return self.precision + (f" with {', '.join(apart)}" if apart else "")

    @property
    def aggregated(self) -> bool:
        """Whether prompts and decoding share the same GPUs."""
        return self.serve is not None

    def trusted(self, figure: Figure) -> bool:
        """Whether no doubt concerns `figure`."""
        return not any(figure in doubt.of for doubt in self.doubts)


def deployment(measurement: Measurement) -> Deployment:
    """The deployment that was measured, under the calibration of its engine epoch."""
    served = model(measurement.model)
    return Deployment(
        model=served,
        cluster=cluster(measurement.cluster),
        engine=msgspec.structs.replace(epoch(measurement.engine), **dict(measurement.constants)),
        precision=weights(measurement),
        scheduler=measurement.scheduler,
        serve=measurement.serve,
        prefill=measurement.prefill,
        decode=measurement.decode,
    )


def weights(measurement: Measurement) -> Precision:
    """Formats of the checkpoint that was served, with the cache format of its launch."""
    stored = model(measurement.model).at(measurement.precision)
    # The checkpoint knows better how its integers are grouped.
    apart = {
        part: each for part, each in measurement.parts if stored.of(part).partition("_")[0] != each
    }
    return msgspec.structs.replace(stored, **apart, kv=measurement.kv)
