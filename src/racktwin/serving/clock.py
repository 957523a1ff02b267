"""The step tables of a replica as flat arrays: what the simulation looks time and energy up in.

The same numbers as `engine.table.StepTable`, resampled so that a lookup costs a few nanoseconds:
dense in tokens and sequences, evenly spaced in context.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.engine.cost import Array
from racktwin.engine.graphs import Sizes, padded
from racktwin.engine.table import BEHIND, NEW, PROMPTS, StepTable

UNPADDED = np.zeros(0, np.int64)
SPACING = 256.0  # tokens between two points of the context axis


class Clock(NamedTuple):
    """Seconds (and J above idle per GPU) of the parts of a step; see `lookup` for their use.

    host: s per step. alone, shared: s by tokens of the fullest rank, by mean tokens of a rank.
    work: J by mean tokens. decode, decode_work: (sequences, context). prefill, prefill_work:
    (prompts, new, behind) on the axes prompts, new, behind. scale: of the whole step (stages).
    idle, most: W of a GPU that waits, and its limit.
    """

    host: float
    alone: Array
    shared: Array
    work: Array
    decode: Array
    decode_work: Array
    prefill: Array
    prefill_work: Array
    prompts: Array
    new: Array
    behind: Array
    scale: float
    idle: float
    most: float


def clock(
    table: StepTable, *, tokens: int, batch: int, context: int, sizes: Sizes = UNPADDED
) -> Clock:
    """Flatten `table` up to `tokens` per step and rank, `batch` sequences, `context` tokens each.

    The states of one rank; a draft model's steps are part of the decode table. sizes: batches that
    steps are padded to; experts see the tokens there are.
    """
    every = np.arange(tokens + 1, dtype=float)
    whole = padded(every, sizes, table.queries)
    parts = table.tokens.parts
    experts = parts.get("experts", np.zeros_like)
    alone = table.tokens.seconds(whole) - experts(whole)
    shared, work = experts(every), np.maximum(table.tokens.joules(every), 0.0)
    for column in (alone, shared, work):
        column[0] = 0.0
    sequences = np.arange(batch + 1, dtype=float)[:, None]
    cached = np.arange(0.0, context + 2 * SPACING, SPACING)[None, :]
    decode = table.decode.seconds(np.maximum(sequences, 1), cached)
    decode_work = table.decode.joules(np.maximum(sequences, 1), cached)
    if table.draft is not None:
        decode = decode + table.draft.seconds(np.maximum(sequences, 1), cached)
        decode_work = decode_work + table.draft.joules(np.maximum(sequences, 1), cached)
    decode[0], decode_work[0] = 0.0, 0.0
    chip = table.step.cluster.chip
    return Clock(
        host=table.host,
        alone=alone,
        shared=shared,
        work=work,
        decode=_positive(decode),
        decode_work=_positive(decode_work),
        prefill=_positive(table.prefill.seconds.values),
        prefill_work=_positive(table.prefill.joules.values),
        prompts=PROMPTS,
        new=NEW,
        behind=BEHIND,
        scale=table.step.imbalance,
        idle=float(chip.idle_power),
        most=float(chip.tdp),
    )


def _positive(values: Array) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.maximum(values, 0.0))
