"""Steady state of an aggregated replica: prompts and decoding sequences share its steps.

Everything is per attention-data rank and vectorised over the mean number of decoding sequences.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine.cost import Array
from racktwin.engine.epoch import Epoch
from racktwin.engine.table import StepTable
from racktwin.serving.encoding import encoding
from racktwin.serving.prompting import reading, reply, singly
from racktwin.serving.queue import wait
from racktwin.serving.traffic import Traffic

COUNTS = 16  # prompts of a rank at once; beyond, the fullest has little more than the mean
WAITS = 33  # steps at which a wait is summed up


class Point(msgspec.Struct, frozen=True):
    """Operating points, one per entry of `batch` (arrays; s, requests/s, counts per rank).

    step: mean time of a decode step with the prefill work that falls into it; watts: of a GPU, W.
    stalls: share of steps that would carry prefill work; above 1 the rank cannot keep up.
    concurrency: requests in decode and prefill, by Little's law.
    """

    batch: Array
    step: Array
    tpot: Array
    ttft: Array
    rate: Array
    stalls: Array
    concurrency: Array
    watts: Array


class Chunk(msgspec.Struct, frozen=True):
    """How prompts enter the steps: `prompts` of `tokens` each, `count` chunks per prompt.

    fit: prompts that a step holds at most.
    """

    prompts: Array
    tokens: Array
    count: Array
    fit: Array


def chunk(batch: Array, arrivals: Array, new: float, budget: ArrayLike, queries: int) -> Chunk:
    """Fill the token budget a step has left; several short prompts may share a step.

    arrivals: prompts per step; budget: tokens per step of one rank.
    """
    room = np.maximum(np.asarray(budget, float) - batch * queries, 1.0)
    count = np.ceil(new / room)
    fit = np.maximum(1.0, np.floor(room / new))
    prompts = np.clip(arrivals, 1.0, fit)
    return Chunk(np.where(count > 1, 1.0, prompts), new / count, count, fit)


def fullest(mean: Array, ranks: int, fit: Array) -> Array:
    """Mean steps of the fullest of `ranks` (count), with Poisson prompts, `fit` (count) a step.

    mean: prompts of a rank (count), which the fullest has at least.
    """
    chance = np.exp(-mean)
    below, found = chance, np.zeros_like(mean)
    for count in range(COUNTS):
        found = found + np.where(count % fit == 0, 1 - below**ranks, 0.0)
        chance = chance * mean / (count + 1)
        below = np.minimum(below + chance, 1.0)
    return np.asarray(np.maximum(found, mean / fit))


def between(arrivals: Array, share: Array, ranks: int, most: float) -> Array:
    """Mean steps from one start of prompts to the next (count), where ranks wait for each other.

    arrivals: prompts of a rank and step (count), Poisson; share: sequences it decodes; most: steps
    that a prompt waits. All ranks wait until each has a prompt, if all have something to decode.
    """
    if not most:
        return np.ones_like(arrivals)
    steps = np.linspace(0.0, most, WAITS)
    lacking = 1 - (1 - np.exp(-arrivals[..., None] * steps)) ** ranks
    waited = np.trapezoid(lacking, steps, axis=-1)
    working = (1 - np.exp(-share)) ** ranks
    return np.asarray(1 + working * np.maximum(waited - 1, 0.0))


class Steps(msgspec.Struct, frozen=True):
    """Steps at operating points: s, J of a GPU.

    loaded: with prompts; mean, joules: time and energy for a decode step of a sequence, with the
    steps, or parts of them, that prompts take.
    """

    loaded: Array
    mean: Array
    joules: Array


def _steps(
    table: StepTable,
    epoch: Epoch,
    traffic: Traffic,
    share: Array,
    arrivals: Array,
    part: Chunk,
    stalls: Array,
) -> Steps:
    """What steps take where a rank has `share` decoding sequences.

    stalls: steps with prompts of a rank for each that it decodes in (1).
    """
    ranks, context = table.step.layout.attention_data, traffic.decode_context
    one_by_one = singly(epoch, ranks, table.queries - 1)
    own = stalls / (1 + stalls) if one_by_one else np.minimum(stalls, 1.0)
    if one_by_one or ranks == 1:
        hit, most = 1 - (1 - own) ** ranks, part.prompts
    else:  # as long as any rank has prompts, as many at once as its budget holds
        apart = between(arrivals, share, ranks, epoch.balance_wait if epoch.balanced else 0)
        came = arrivals * apart
        hit = part.count * fullest(came, ranks, part.fit)
        most = part.count * fullest(came, ranks, np.ones_like(came)) / np.maximum(hit, 1e-12)
        hit = np.minimum(hit / apart, 1.0)
    together = own / np.maximum(hit, 1e-12)
    riders = share if epoch.mixed or one_by_one else 0.0 * share
    mean_riders = riders * (1 - together) if one_by_one else riders
    behind = traffic.cached + (traffic.new - part.tokens) / 2
    read = part.prompts * together
    mean = mean_riders * table.queries + read * part.tokens
    prompts = (most, part.tokens, behind)
    loaded = table.mixed_step(riders, context, *prompts, mean, one_by_one)
    loaded = loaded + most / part.count * encoding(table, traffic)[0]
    plain = table.decode_step(share, context)
    alone = table.joules(share, context, 0.0, 1.0, 0.0, plain)
    joules = table.joules(mean_riders, context, read, part.tokens, behind, loaded)
    whole = np.maximum(loaded, plain) if epoch.mixed else loaded
    count = 1 + stalls if one_by_one else 1.0
    often = 1 - hit if epoch.mixed or one_by_one else 1.0
    return Steps(
        loaded=loaded,
        mean=count * (often * plain + hit * whole),
        joules=count * (often * alone + hit * joules),
    )


def point(
    table: StepTable,
    epoch: Epoch,
    traffic: Traffic,
    batch: ArrayLike,
    budget: ArrayLike,
    gain: float = 1.0,
) -> Point:
    """Operating points of a rank with `batch` sequences in decode on average.

    A pipeline has as many steps under way as stages, each with its share of the sequences.
    budget: token budget of a step; gain: tokens a sequence wins per step (speculation).
    """
    decoding = np.asarray(batch, dtype=float)
    share = decoding / table.step.layout.pipeline
    steps = traffic.steps / gain
    arrivals = share / steps
    part = chunk(share, arrivals, traffic.new, budget, table.queries)
    stalls = arrivals * part.count / part.prompts
    steps_of = _steps(table, epoch, traffic, share, arrivals, part, stalls)
    loaded, step = steps_of.loaded, steps_of.mean
    busy = part.count * loaded
    queued = wait(busy, np.minimum(stalls, 0.98))
    waited = 0.5 + epoch.prefill_wait
    ttft = reading(epoch, table.step) * busy + queued + waited * step
    ttft = ttft + reply(epoch, table.step.architecture)
    duration = steps * step
    joules = steps_of.joules + arrivals * encoding(table, traffic)[1]
    return Point(
        batch=decoding,
        step=step,
        tpot=step / gain,
        ttft=np.asarray(ttft),
        rate=decoding / duration,
        stalls=stalls,
        concurrency=decoding * (1 + ttft / duration),
        watts=joules / step,
    )
