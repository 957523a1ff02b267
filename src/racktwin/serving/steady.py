"""The steady state of a whole deployment under a closed or an open load."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.cost import Array
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.encoder import Encoder
from racktwin.engine.memory import MemoryFit, memory
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.estimate import Evidence
from racktwin.serving import aggregated, disaggregated
from racktwin.serving.traffic import Traffic

LOADS = np.geomspace(1e-5, 1.0, 101)  # shares of the largest batch the state is looked for at


class SteadyState(msgspec.Struct, frozen=True, kw_only=True):
    """Means of one copy of a deployment under steady load.

    ttft, tpot: s; requests: requests/s; concurrency: requests in the system; batch: decoding
    sequences per attention-data rank; queued: s of the TTFT spent waiting for a place in the batch;
    prefill_busy: share of time (or of steps) prefill work takes; watts: mean power of a GPU, W;
    parts: s of a decode step.
    """

    ttft: float
    tpot: float
    requests: float
    concurrency: float
    batch: float
    queued: float
    prefill_busy: float
    watts: float
    gpus: int
    traffic: Traffic
    limit: str
    parts: dict[str, float]
    evidence: dict[str, tuple[Evidence, ...]]
    memory: dict[str, MemoryFit]

    @property
    def output_rate(self) -> float:
        """Output tokens/s of the copy."""
        return self.requests * self.traffic.output

    @property
    def output_rate_per_gpu(self) -> float:
        """Output tokens/s/GPU."""
        return self.output_rate / self.gpus

    @property
    def total_rate_per_gpu(self) -> float:
        """Input and output tokens/s/GPU."""
        return self.requests * (self.traffic.input + self.traffic.output) / self.gpus


class Curve(msgspec.Struct, frozen=True):
    """A deployment over growing load, from none to the most it can hold.

    `concurrency` rises strictly; `requests` may dip where a kernel takes a larger tile. inside:
    sequences in a stage of a replica that decodes; watts: of a GPU while it always has one, W;
    spare: of these what a stage without any does not take, W.
    """

    batch: Array
    concurrency: Array
    requests: Array
    ttft: Array
    tpot: Array
    busy: Array
    watts: Array
    inside: Array
    spare: Array
    limit: str

    def take(self, index: NDArray[np.int64]) -> Curve:
        """The points at `index`."""
        columns = (name for name in self.__struct_fields__ if name != "limit")
        return msgspec.structs.replace(
            self, **{name: getattr(self, name)[index] for name in columns}
        )


def at_work_closed(inside: float) -> float:
    """Share of time a stage works, 0..1; inside: count of sequences, always as many."""
    return min(1.0, inside)


def at_work_open(inside: float) -> float:
    """Share of time a stage works, 0..1; inside: mean count of sequences.

    Poisson arrivals that hardly wait for one another: their number is Poisson, M/G/infinity.
    """
    return -math.expm1(-inside)


def rising(values: Array) -> NDArray[np.int64]:
    """Indices of the values (any unit) that are larger than all before them."""
    most = np.maximum.accumulate(values)
    return np.flatnonzero(np.concatenate([[True], values[1:] > most[:-1]]))


class Served:
    """A deployment with its step tables and memory, ready to be asked under many loads."""

    def __init__(self, deployment: Deployment, fraction: float | None = None) -> None:
        self.deployment = deployment
        self.tables = {role: self._table(pool) for role, pool in deployment.pools.items()}
        self.memory = {
            role: self._memory(pool, fraction or deployment.memory_fraction)
            for role, pool in deployment.pools.items()
        }

    def _table(self, pool: Pool) -> StepTable:
        asked = self.deployment
        step = Step(
            asked.model.architecture, pool.layout, asked.precision, asked.cluster, asked.engine
        )
        return StepTable(step, pool.speculation.tokens)

    def encoder(self, role: str) -> Encoder | None:
        """The image encoder in front of the model in this role; None where it reads text only."""
        return Encoder.of(self.tables[role].step)

    def _memory(self, pool: Pool, fraction: float | None) -> MemoryFit:
        asked = self.deployment
        return memory(
            asked.model.architecture,
            asked.precision,
            pool.layout,
            visible=asked.cluster.chip.memory_visible,
            convention=asked.engine,
            max_batch_tokens=pool.max_batch_tokens,
            max_batch=pool.max_batch,
            fraction=fraction,
            mtp=bool(pool.speculation.tokens),
        )

    def closed(self, traffic: Traffic, concurrency: float) -> SteadyState:
        """`concurrency` requests in flight over one copy, each followed by the next at once."""
        curve = self.curve(traffic)
        held = min(concurrency, float(curve.concurrency[-1]))
        state = self._read(curve, traffic, held, curve.concurrency, at_work_closed)
        if concurrency <= held * (1 + 1e-9):
            return state
        queued = (concurrency - state.concurrency) / state.requests
        return msgspec.structs.replace(
            state,
            ttft=state.ttft + queued,
            concurrency=concurrency,
            queued=queued,
            limit=curve.limit,
        )

    def open(self, traffic: Traffic, rate: float) -> SteadyState:
        """Poisson arrivals at `rate` requests/s over one copy; `queued` is inf beyond capacity."""
        curve = self.curve(traffic)
        curve = curve.take(rising(curve.requests))
        held = min(rate, float(curve.requests[-1]))
        state = self._read(curve, traffic, held, curve.requests, at_work_open)
        if rate <= held * (1 + 1e-9):
            return state
        return msgspec.structs.replace(state, ttft=np.inf, queued=np.inf, limit=curve.limit)

    def _read(
        self,
        curve: Curve,
        traffic: Traffic,
        load: float,
        axis: Array,
        at_work: Callable[[float], float],
    ) -> SteadyState:
        """The state where `axis` of the curve is at `load`, both in the same unit.

        at_work: share of time a stage works, 0..1, by the sequences in it.
        """

        def read(column: Array) -> float:
            return float(np.interp(load, axis, column))

        role = "serve" if self.deployment.serve else "decode"
        table, batch = self.tables[role], read(curve.batch)
        at = (batch / table.pipeline, traffic.decode_context)
        return SteadyState(
            ttft=read(curve.ttft),
            tpot=read(curve.tpot),
            requests=read(curve.requests),
            concurrency=read(curve.concurrency),
            batch=batch,
            queued=0.0,
            prefill_busy=read(curve.busy),
            watts=read(curve.watts) - read(curve.spare) * (1 - at_work(read(curve.inside))),
            gpus=self.deployment.gpus,
            traffic=traffic,
            limit="the load",
            parts=self._parts(table, *at),
            evidence=self._evidence(table, *at),
            memory=self.memory,
        )

    def _parts(self, table: StepTable, batch: float, context: float) -> dict[str, float]:
        return table.breakdown(batch, context)

    def _evidence(
        self, table: StepTable, batch: float, context: float
    ) -> dict[str, tuple[Evidence, ...]]:
        known = table.evidence(batch, context)
        return {part: tuple(sorted(each)) for part, each in known.items()}

    def curve(self, traffic: Traffic) -> Curve:
        """The deployment from almost no load to the most it can hold."""
        if self.deployment.serve is not None:
            return self._aggregated(self.deployment.serve, traffic)
        prefill, decode = self.deployment.prefill, self.deployment.decode
        assert prefill is not None
        assert decode is not None
        return self._disaggregated(prefill, decode, traffic)

    def room(self, role: str, pool: Pool, traffic: Traffic) -> tuple[float, str]:
        """Sequences a rank can hold at once, and what sets the number."""
        room = max(self.memory[role].sequences(traffic.held(self.deployment.reserved)), 1e-3)
        if room < pool.max_batch:
            return room, f"KV memory at {room:,.0f} sequences per rank"
        return float(pool.max_batch), f"max_batch of {pool.max_batch:,} per rank"

    def _aggregated(self, pool: Pool, traffic: Traffic) -> Curve:
        table, epoch = self.tables["serve"], self.deployment.engine
        room, limit = self.room("serve", pool, traffic)
        gain = pool.speculation.tokens_per_step
        batch = LOADS * room
        at = aggregated.point(table, epoch, traffic, batch, pool.max_batch_tokens, gain)
        ranks = pool.replicas * pool.layout.attention_data
        keep = at.stalls <= 1
        keep[0] = True
        if not keep.all():
            limit = "prefill work in every step"
        columns = (
            batch,
            at.concurrency * ranks,
            at.rate * ranks,
            at.ttft,
            at.tpot,
            at.stalls,
            at.watts,
            at.concurrency * pool.layout.attention_data / pool.layout.pipeline,
            at.watts - self.deployment.cluster.chip.idle_power,
        )
        return _curve(tuple(column[keep] for column in columns), limit)

    def _disaggregated(self, prefill: Pool, decode: Pool, traffic: Traffic) -> Curve:
        epoch = self.deployment.engine
        room, limit = self.room("decode", decode, traffic)
        batch = LOADS * room
        gain = decode.speculation.tokens_per_step
        at = disaggregated.decode(self.tables["decode"], traffic, batch, gain)
        pool = disaggregated.prefill(self.tables["prefill"], traffic, prefill.max_batch_tokens)
        requests = at.rate * decode.replicas
        busy = requests / (pool.capacity * prefill.replicas)
        keep = busy <= 0.99
        keep[0] = True
        if not keep.all():
            limit = "prefill replicas busy all the time"
        ttft = disaggregated.first_token(pool, epoch, busy, prefill.replicas)
        concurrency = requests * (ttft + traffic.steps * at.tpot)
        idle, share = self.deployment.cluster.chip.idle_power, prefill.gpus / self.deployment.gpus
        watts = disaggregated.watts(pool.watts, at.watts, busy, share, idle)
        inside = batch * decode.layout.attention_data / decode.layout.pipeline
        spare = (1 - share) * (at.watts - idle)
        columns = (batch, concurrency, requests, ttft, at.tpot, busy, watts, inside, spare)
        return _curve(tuple(column[keep] for column in columns), limit)


def _curve(columns: tuple[Array, ...], limit: str) -> Curve:
    """The points where the load rises, behind one without any."""
    batch, concurrency, rate, ttft, tpot, busy, watts, inside, spare = columns
    none = np.zeros(1)
    batch, concurrency, rate, busy, inside = (
        np.concatenate([none, column]) for column in (batch, concurrency, rate, busy, inside)
    )
    ttft, tpot, watts, spare = (
        np.concatenate([column[:1], column]) for column in (ttft, tpot, watts, spare)
    )
    whole = (batch, concurrency, rate, ttft, tpot, busy, watts, inside, spare)
    return Curve(*whole, limit).take(rising(concurrency))
