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
from racktwin.serving.prompting import reading, reply
from racktwin.serving.queue import wait
from racktwin.serving.traffic import Traffic


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
    """How prompts enter the steps: `prompts` of `tokens` each, `count` chunks per prompt."""

    prompts: Array
    tokens: Array
    count: Array


def chunk(batch: Array, arrivals: Array, new: float, budget: ArrayLike, queries: int) -> Chunk:
    """Fill the token budget a step has left; several short prompts may share a step.

    arrivals: prompts per step; budget: tokens per step of one rank.
    """
    room = np.maximum(np.asarray(budget, float) - batch * queries, 1.0)
    count = np.ceil(new / room)
    prompts = np.clip(arrivals, 1.0, np.maximum(1.0, np.floor(room / new)))
    return Chunk(np.where(count > 1, 1.0, prompts), new / count, count)


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
    ranks = table.step.layout.attention_data
    share = decoding / table.step.layout.pipeline
    steps = traffic.steps / gain
    arrivals = share / steps
    part = chunk(share, arrivals, traffic.new, budget, table.queries)
    stalls = arrivals * part.count / part.prompts
    share_of_steps = np.minimum(stalls, 1.0)
    hit = share_of_steps if epoch.balanced else 1 - (1 - share_of_steps) ** ranks
    behind = traffic.cached + (traffic.new - part.tokens) / 2
    context = traffic.decode_context
    plain = table.decode_step(share, context)
    riders = share if epoch.mixed else 0.0 * share
    together = share_of_steps / np.maximum(hit, 1e-12)
    mean = riders * table.queries + part.prompts * part.tokens * together
    encode, effort = encoding(table, traffic)
    loaded = table.mixed_step(riders, context, part.prompts, part.tokens, behind, mean)
    loaded = loaded + part.prompts / part.count * encode
    extra = loaded - plain if epoch.mixed else loaded
    step = plain + hit * np.maximum(extra, 0.0)
    busy = part.count * loaded
    queued = wait(busy, np.minimum(stalls, 0.98))
    waited = 0.5 + epoch.prefill_wait
    ttft = reading(epoch, table.step) * busy + queued + waited * step
    ttft = ttft + reply(epoch, table.step.architecture)
    duration = steps * step
    middle = traffic.cached + traffic.new / 2
    joules = table.joules(share, context, arrivals, traffic.new, middle, step)
    joules = joules + arrivals * effort
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
