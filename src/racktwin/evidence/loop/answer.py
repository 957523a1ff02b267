"""What the clients of a measurement meet: their closed loop on its deployment."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.engine.deployment import Pool
from racktwin.evidence import data
from racktwin.evidence.loop import pair, rank
from racktwin.evidence.loop.pair import Pair
from racktwin.evidence.loop.rank import Rank
from racktwin.evidence.loop.requests import Floats, Requests, requests
from racktwin.evidence.measurement import Measurement
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

LARGEST = 20_000  # clients of a loop
BATCHES = 40  # of a decode rank at which a step is priced
FULL = 0.9  # of the budget in waiting prompts ends the wait for more


class Loop(msgspec.Struct, frozen=True):
    """Means over all requests, s: to the end of the prompt, per token after it; median: of ttft.

    seat: s between the two, in which a read prompt waits for a place in a decode pool of its own;
    later: what that adds to the median, s.
    """

    ttft: float
    tpot: float
    median: float
    seat: float = 0.0
    later: float = 0.0


def answer(served: Served, measurement: Measurement, factor: float = 1.0) -> Loop | None:
    """The loop of a measurement's clients; None where they are too many to follow.

    factor: time of prompts over the tables', 1.
    """
    pool = measurement.serve
    ranks = pool.layout.attention_data if pool else 1
    clients = max(1, round(measurement.concurrency / ranks / (pool.replicas if pool else 1)))
    if clients > LARGEST:
        return None
    found = requests(measurement.traffic, measurement.client, clients, ranks)
    if pool is not None:
        rank.run(found, _rank(served, pool, measurement, factor), clients)
    else:
        pair.run(found, _pair(served, measurement, len(found.prompt)), clients)
    return _means(found)


def _means(found: Requests) -> Loop:
    ttft = found.read - found.arrival
    begun = np.maximum(found.read, found.seated)
    tpot = (found.done - begun) / (found.output - 1)
    seat, median = float((begun - found.read).mean()), float(np.median(ttft))
    later = float(np.median(begun - found.arrival)) - median
    return Loop(float(ttft.mean()), float(tpot.mean()), median, seat, later)


def _rank(served: Served, pool: Pool, row: Measurement, factor: float) -> Rank:
    table, traffic, engine = served.tables["serve"], row.traffic, served.deployment.engine
    limits, whole = data.load("closed_loop"), engine.engine == "trtllm"
    uptake, prompts = float(pool.max_batch_tokens), math.inf
    if engine.mixed:
        uptake, prompts = min(uptake, limits["tokens"]), float(limits["prompts"])
    part = _part(traffic, traffic.new if whole else uptake)
    reading = float(table.prefill.seconds(1.0, part, traffic.cached + (traffic.new - part) / 2))
    times = table.step.imbalance
    # Attention-data ranks wait for each other, however many prompts one of them has.
    alone = pool.layout.attention_data == 1
    axis = table.decode.seconds.axes[0]
    decode = table.decode.seconds(axis, traffic.decode_context)
    if table.draft is not None:
        decode = decode + table.draft.seconds(axis, traffic.decode_context)
    return Rank(
        room=_room(served, pool, row),
        uptake=uptake,
        prompts=prompts,
        whole=whole,
        mixed=engine.mixed,
        queries=float(table.queries),
        gain=float(pool.speculation.tokens_per_step),
        held=float(row.client.held),
        filled=FULL * pool.max_batch_tokens if alone else math.inf,
        factor=float(factor),
        host=float(table.host * times),
        attention=reading / part * times,
        tokens=table.tokens.seconds.axes[0],
        work=np.ascontiguousarray(table.tokens.seconds.values * times),
        sequences=axis,
        reading=np.ascontiguousarray(decode * times),
    )


def _room(served: Served, pool: Pool, row: Measurement) -> float:
    """Sequences that a rank holds."""
    room = served.room("serve", pool, row.traffic)[0]
    if row.client.crowded:
        room = min(room, row.concurrency / pool.replicas / pool.layout.attention_data - 1)
    return max(room, 1.0)


def _part(traffic: Traffic, most: float) -> float:
    """Tokens of an even part of a prompt, of at most so many."""
    return traffic.new / math.ceil(traffic.new / most)


def _pair(served: Served, row: Measurement, count: int) -> Pair:
    prefill, decode, traffic = row.prefill, row.decode, row.traffic
    assert prefill is not None
    assert decode is not None
    table, ranks = served.tables["decode"], decode.replicas * decode.layout.attention_data
    room = max(served.room("decode", decode, traffic)[0], 1.0)
    axis = np.geomspace(1.0, max(2.0, row.concurrency / ranks + 1), BATCHES)
    step = table.decode_step(axis / decode.layout.pipeline, traffic.decode_context)
    return Pair(
        replicas=prefill.replicas,
        service=_service(served, prefill, traffic),
        mean=traffic.new,
        room=room * ranks,
        ranks=float(ranks),
        gain=float(decode.speculation.tokens_per_step),
        sequences=axis,
        step=np.ascontiguousarray(step),
        busy=np.zeros(prefill.replicas + 1),
        workers=np.zeros(prefill.replicas + 1, np.int64),
        first=np.zeros(count, np.int64),
        counts=np.zeros(count, np.int64),
    )


def _service(served: Served, pool: Pool, traffic: Traffic) -> Floats:
    """Seconds of a prefill replica for 1, 2, ... prompts, as many as one step holds."""
    table, ranks = served.tables["prefill"], pool.layout.attention_data
    part = _part(traffic, float(pool.max_batch_tokens))
    chunks = traffic.new / part
    most = ranks * max(1, int(pool.max_batch_tokens // traffic.new))
    counts = np.arange(1, min(most, LARGEST) + 1)
    behind = traffic.cached + (traffic.new - part) / 2
    fullest = np.ceil(counts / ranks)
    steps = table.mixed_step(0.0, 1.0, fullest, part, behind, counts * part / ranks)
    return np.ascontiguousarray(chunks * steps / pool.layout.pipeline)
