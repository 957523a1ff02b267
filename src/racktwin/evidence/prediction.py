"""What the twin says about a published measurement, under the load its client made."""

from __future__ import annotations

from functools import partial

import msgspec

from racktwin.evidence.loop.answer import Loop, answer
from racktwin.evidence.measurement import Measurement
from racktwin.serving.prompting import launching, reading, reply
from racktwin.serving.steady import Served


class Prediction(msgspec.Struct, frozen=True):
    """Predicted means over all requests of a measurement.

    ttft, tpot: s; output_rate: out tokens/s of the whole deployment; limit: what holds it back.
    median: of ttft, s. followed: the clients one by one; else they were too many, and this is the
    steady state.
    """

    ttft: float
    tpot: float
    output_rate: float
    limit: str
    median: float
    followed: bool = True


def predict(measurement: Measurement, served: Served) -> Prediction:
    """The prediction of a measurement on its deployment, `served`: its clients' closed loop.

    What an engine adds to a prompt holds nobody else up: TTFT is that of a loop in which prompts
    take so much longer, TPOT that of one in which they do not. With pools of their own the decode
    side answers first, so that waiting for a place in it is part of TTFT.
    """
    state = served.closed(measurement.traffic, measurement.concurrency)
    engine, pool = served.deployment.engine, measurement.serve
    step = served.tables["serve" if pool else "prefill"].step
    follow = getattr(served, "loop", partial(answer, served))
    loop: Loop | None = follow(measurement, 1.0)
    if loop is None:
        loop = Loop(state.ttft, state.tpot, state.ttft)
        steady = _prediction(measurement, loop, 0.0, state.limit)
        return msgspec.structs.replace(steady, followed=False)
    if pool is not None:
        slower = follow(measurement, reading(engine, step)) or loop
        waited = engine.prefill_wait + measurement.client.polled / 2
        added = reply(engine, step.architecture)
        added += waited * loop.tpot * pool.speculation.tokens_per_step
    else:
        factor = engine.prefill_apart
        slower = Loop(factor * loop.ttft + loop.seat, loop.tpot, factor * loop.median + loop.later)
        added = launching(engine, step.architecture) + engine.handover
    found = Loop(slower.ttft, loop.tpot, slower.median)
    cycle = slower.ttft if pool is not None else loop.ttft + loop.seat
    return _prediction(measurement, found, added, state.limit, cycle)


def _prediction(
    row: Measurement, loop: Loop, added: float, limit: str, until: float | None = None
) -> Prediction:
    """`loop` with `added` s before every first token; the output rate by Little's law.

    until: s to the end of the prompt that the rate goes by, where it is not the loop's.
    """
    read = loop.ttft if until is None else until
    inside = read + added + row.traffic.steps * loop.tpot
    rate = row.concurrency * row.traffic.output / inside
    return Prediction(loop.ttft + added, loop.tpot, rate, limit, loop.median + added)
