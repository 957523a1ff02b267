"""What the twin says about a published measurement, under the load its client made."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.evidence.measurement import Measurement
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

    One request in `waves` is of the first wave, which finds an empty engine and a long queue.
    """
    state, extra = _settled(served, measurement, _steps_waited(measurement))
    steady = state.ttft + extra
    share = 1 / measurement.client.waves
    first = max(steady, _first_wave(served, measurement))
    return Prediction(
        ttft=(1 - share) * steady + share * first,
        tpot=state.tpot,
        output_rate=state.output_rate,
        limit=state.limit,
    )


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


def _first_wave(served: Served, measurement: Measurement) -> float:
    """Mean time to first token of prompts all sent at once to an empty engine, s."""
    role = "serve" if measurement.serve else "prefill"
    pool, table, traffic = served.deployment.pools[role], served.tables[role], measurement.traffic
    new, budget = traffic.new, pool.max_batch_tokens
    queue = math.ceil(measurement.concurrency / (pool.replicas * pool.layout.attention_data))
    together = int(min(queue, max(1.0, budget // new)))
    chunks = math.ceil(new / budget)
    behind = traffic.cached + (new - new / chunks) / 2
    step = float(np.asarray(table.mixed_step(0.0, 1.0, float(together), new / chunks, behind)))
    groups = math.ceil(queue / together)
    return step * chunks * (groups + 1) / 2 + served.deployment.engine.first_token
