"""Steady state of separate prefill and decode pools. Everything is vectorised."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine.cost import Array
from racktwin.engine.epoch import Epoch
from racktwin.engine.table import StepTable
from racktwin.serving.encoding import encoding
from racktwin.serving.prompting import launching
from racktwin.serving.queue import wait
from racktwin.serving.traffic import Traffic


class Prefill(msgspec.Struct, frozen=True):
    """A prefill replica.

    prompts: of a full step and rank; service, alone: s from start to first token of a full step,
    and of a lone prompt; capacity: requests/s when never idle; watts: of a GPU then, W.
    """

    prompts: Array
    service: Array
    alone: Array
    capacity: Array
    watts: Array


class Decode(msgspec.Struct, frozen=True):
    """A decode replica. step, tpot: s; rate: requests/s of the replica; watts: of a GPU, W."""

    batch: Array
    step: Array
    tpot: Array
    rate: Array
    watts: Array


def prefill(table: StepTable, traffic: Traffic, budget: ArrayLike) -> Prefill:
    """A prefill replica with a token budget per step and rank.

    A pipeline holds one step per stage at a time, so it serves `pipeline` times as many.
    """
    layout = table.step.layout
    allowed = np.asarray(budget, dtype=float)
    prompts = np.maximum(1.0, np.floor(allowed / traffic.new))
    count = np.ceil(traffic.new / allowed)
    tokens = traffic.new / count
    behind = traffic.cached + (traffic.new - tokens) / 2
    encode, effort = encoding(table, traffic)
    step = table.mixed_step(0.0 * prompts, 1.0, prompts, tokens, behind) + prompts / count * encode
    mean = tokens / layout.attention_data
    single = table.mixed_step(0.0 * prompts, 1.0, 1.0, tokens, behind, mean) + encode / count
    chunks = 1 + (count - 1) / layout.pipeline
    capacity = prompts * layout.attention_data * layout.pipeline / (step * count)
    middle = traffic.cached + traffic.new / 2
    joules = table.joules(0.0 * prompts, 1.0, prompts, traffic.new, middle, step * count)
    joules = joules + prompts * effort
    watts = joules / (step * count)
    factor = table.step.epoch.prefill_apart
    more = launching(table.step.epoch, table.step.architecture)
    service, alone = (factor * each * chunks + more for each in (step, single))
    return Prefill(prompts, service, alone, capacity, watts)


def decode(table: StepTable, traffic: Traffic, batch: ArrayLike, gain: float = 1.0) -> Decode:
    """A decode replica with `batch` sequences per attention-data rank."""
    layout = table.step.layout
    sequences = np.asarray(batch, dtype=float)
    share = sequences / layout.pipeline
    step = table.decode_step(share, traffic.decode_context)
    rate = sequences * layout.attention_data * gain / (traffic.steps * step)
    joules = table.joules(share, traffic.decode_context, 0.0, 1.0, 0.0, step)
    return Decode(sequences, step, step / gain, rate, joules / step)


def watts(
    prefill: ArrayLike, decode: ArrayLike, utilisation: ArrayLike, share: ArrayLike, idle: float
) -> Array:
    """Mean power of a GPU of both pools, W.

    prefill, decode: of their GPUs at work, W; utilisation: share of time prefill replicas work,
    0..1; share: of the GPUs that are in the prefill pool, 0..1; idle: of a GPU that waits, W.
    """
    load, part = np.asarray(utilisation, dtype=float), np.asarray(share, dtype=float)
    working = idle + load * (np.asarray(prefill, dtype=float) - idle)
    return np.asarray(part * working + (1 - part) * np.asarray(decode, dtype=float))


def first_token(
    prefill: Prefill, epoch: Epoch, utilisation: ArrayLike, replicas: ArrayLike
) -> Array:
    """Mean time to first token, s: wait for a prefill replica, its service, the engine's own.

    utilisation: share of time the replicas work, 0..1; the busier they are, the fuller their steps.
    """
    load = np.minimum(np.asarray(utilisation, dtype=float), 0.999)
    service = prefill.alone + load * (prefill.service - prefill.alone)
    return np.asarray(wait(service, load, replicas) + service + epoch.handover)
