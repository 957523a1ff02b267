"""Steady state of separate prefill and decode pools. Everything is vectorised."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine.cost import Array
from racktwin.engine.epoch import Epoch
from racktwin.engine.table import StepTable
from racktwin.serving.queue import wait
from racktwin.serving.traffic import Traffic


class Prefill(msgspec.Struct, frozen=True):
    """A prefill replica. service: s from start to first token of a full step of prompts;
    capacity: requests/s of the replica when never idle; prompts: per step and rank.
    """

    prompts: Array
    service: Array
    capacity: Array


class Decode(msgspec.Struct, frozen=True):
    """A decode replica. step, tpot: s; rate: requests/s of the replica."""

    batch: Array
    step: Array
    tpot: Array
    rate: Array


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
    step = table.mixed_step(0.0 * prompts, 1.0, prompts, tokens, behind)
    service = step * (1 + (count - 1) / layout.pipeline)
    capacity = prompts * layout.attention_data * layout.pipeline / (step * count)
    return Prefill(prompts, service, capacity)


def decode(table: StepTable, traffic: Traffic, batch: ArrayLike, gain: float = 1.0) -> Decode:
    """A decode replica with `batch` sequences per attention-data rank."""
    layout = table.step.layout
    sequences = np.asarray(batch, dtype=float)
    step = table.decode_step(sequences / layout.pipeline, traffic.decode_context)
    rate = sequences * layout.attention_data * gain / (traffic.steps * step)
    return Decode(sequences, step, step / gain, rate)


def first_token(
    prefill: Prefill, epoch: Epoch, utilisation: ArrayLike, replicas: ArrayLike
) -> Array:
    """Mean time to first token, s: wait for a prefill replica, its service, the engine's own."""
    load = np.minimum(np.asarray(utilisation, dtype=float), 0.999)
    queued = wait(prefill.service, load, replicas)
    return np.asarray(queued + prefill.service + epoch.first_token)
