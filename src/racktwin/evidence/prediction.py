"""What the twin says about a published measurement, under the load its client made."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.evidence.measurement import Measurement
from racktwin.evidence.waves import Wave
from racktwin.serving.queue import wait
from racktwin.serving.steady import Served, SteadyState


class Prediction(msgspec.Struct, frozen=True):
    """Predicted means over all requests of a measurement.

    ttft, tpot: s; output_rate: out tokens/s of the whole deployment; limit: what holds it back.
    """

    ttft: float
    tpot: float
    output_rate: float
    limit: str


def predict(measurement: Measurement, served: Served) -> Prediction:
    """The prediction of a measurement on its deployment, `served`.

    What the waves of its clients wait for prefill is spared of waiting in the steady state, and of
    the prefill of others while a request decodes: the time of a request is conserved.
    """
    state, extra = _settled(served, measurement, _steps_waited(measurement))
    client, traffic = measurement.client, measurement.traffic
    wave, queued = _wave(served, measurement, state)
    share = 1 / client.waves
    steady = state.ttft + extra
    calm = steady - queued + wave.later(client.waves - 1)
    engine = served.deployment.engine
    reply = engine.first_token + (0.0 if measurement.serve else engine.handover)
    first = max(steady, wave.first + reply)
    ttft = (1 - share) * calm + share * first
    tpot = state.tpot - max(0.0, ttft - steady) / traffic.steps if measurement.serve else state.tpot
    return Prediction(ttft, max(tpot, 0.5 * state.tpot), state.output_rate, state.limit)


def _wave(served: Served, measurement: Measurement, state: SteadyState) -> tuple[Wave, float]:
    """The waves of the clients, and the wait for prefill that `state` has in its TTFT, s."""
    role = "serve" if measurement.serve else "prefill"
    pool, table = served.deployment.pools[role], served.tables[role]
    traffic, layout = measurement.traffic, pool.layout
    ranks = pool.replicas * layout.attention_data
    busy, clients = min(state.prefill_busy, 0.98), measurement.concurrency / ranks
    chunks = math.ceil(traffic.new / pool.max_batch_tokens)
    together = max(1.0, pool.max_batch_tokens // traffic.new)
    behind = traffic.cached + (traffic.new - traffic.new / chunks) / 2
    riders = state.batch if measurement.serve and served.deployment.engine.mixed else 0.0
    context = traffic.decode_context

    def prefill(prompts: float) -> float:
        new = traffic.new / chunks
        return chunks * float(np.asarray(table.mixed_step(riders, context, prompts, new, behind)))

    answer = measurement.client.spread * traffic.steps
    if measurement.serve is None:
        work, answer = clients * prefill(together) / together, answer * state.tpot
    else:
        work = clients * chunks / together
        answer /= measurement.serve.speculation.tokens_per_step
    stalling = measurement.serve is not None and not served.deployment.engine.mixed
    wave = Wave(
        clients=clients,
        work=work,
        jitter=answer,
        utilisation=busy,
        service=prefill(min(together, max(clients, 1.0))),
        together=min(together, max(clients, 1.0)),
        stalling=stalling,
    )
    return wave, float(wait(prefill(1.0), busy, 1 if measurement.serve else pool.replicas))


def _steps_waited(measurement: Measurement) -> float:
    """Mean steps a prompt waits because of how its engine was launched.

    A scheduler that looks every `polled` steps costs half of them. A prompt that opens a batch
    waits `held` steps and those that join it half as long: held (1 + m/2) / (1 + m) for m joining.
    """
    client, pool = measurement.client, measurement.serve
    if pool is None:
        return 0.0
    gain = pool.speculation.tokens_per_step
    arrivals = measurement.concurrency / pool.replicas * gain / measurement.traffic.steps
    joining = client.held * arrivals
    return client.polled / 2 + client.held * (1 + joining / 2) / (1 + joining)


def _settled(served: Served, measurement: Measurement, waited: float) -> tuple[SteadyState, float]:
    """The steady state, and the seconds `waited` steps take; who waits is not in the engine."""
    traffic, load = measurement.traffic, measurement.concurrency
    state = served.closed(traffic, load)
    if not waited or measurement.serve is None:
        return state, 0.0
    gain = measurement.serve.speculation.tokens_per_step
    extra = waited * state.tpot * gain
    inside = state.ttft + traffic.steps * state.tpot
    state = served.closed(traffic, load * inside / (inside + extra))
    return state, waited * state.tpot * gain
