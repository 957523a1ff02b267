"""Time and energy of one step, read from a `Clock`."""

from __future__ import annotations

import numpy as np

from racktwin.engine.cost import Array
from racktwin.serving.clock import SPACING, Clock
from racktwin.serving.compiled import inlined

GRAIN = 4096.0  # parts of a token that means are counted in


@inlined
def between(column: Array, position: float) -> float:
    """`column` (s or J) at a fractional index, linear between entries, and on beyond the last.

    position: index, counted in entries.
    """
    low = min(int(position), len(column) - 2)
    return column[low] + (position - low) * (column[low + 1] - column[low])


@inlined
def cell(axis: Array, value: float) -> tuple[int, float]:
    """Index of the cell of `axis` (tokens or counts) `value` lies in, and how far into it, 0..1."""
    low = np.searchsorted(axis, value, side="right") - 1
    low = min(max(low, 0), len(axis) - 2)
    share = (value - axis[low]) / (axis[low + 1] - axis[low])
    return low, min(max(share, 0.0), 1.0)


@inlined
def attended(clock: Clock, prompts: float, new: float, behind: float) -> tuple[float, float]:
    """Attention of `prompts` prompts of `new` tokens behind `behind` cached ones: s and J."""
    i, a = cell(clock.prompts, prompts)
    j, b = cell(clock.new, new)
    k, c = cell(clock.behind, behind)
    seconds, work = 0.0, 0.0
    for x in range(2):
        for y in range(2):
            for z in range(2):
                weight = (a if x else 1 - a) * (b if y else 1 - b) * (c if z else 1 - c)
                seconds += weight * clock.prefill[i + x, j + y, k + z]
                work += weight * clock.prefill_work[i + x, j + y, k + z]
    return seconds, work


@inlined
def depth(context: float, batch: int) -> float:
    """Mean cached tokens of `batch` sequences with `context` together, cut to 1/4096 of a token.

    Cut so that it grows by exactly the gain in a step: then it is the same from step to step as
    over a whole stretch, and where a run is interrupted changes nothing.
    """
    return np.floor(context / batch * GRAIN) / GRAIN


@inlined
def base_seconds(clock: Clock, fullest: int, mean: float) -> float:
    """Work on tokens, s: `fullest` of the fullest rank, `mean` over the ranks."""
    return clock.host + between(clock.alone, float(fullest)) + between(clock.shared, mean)


@inlined
def decode_seconds(clock: Clock, batch: int, context: float) -> float:
    """Attention of `batch` sequences of the fullest rank at the mean `context`, s."""
    return between(clock.decode[batch], context / SPACING)


@inlined
def work_row(clock: Clock, batch: float) -> int:
    """Row of `clock.decode_work` that stands for `batch` sequences per rank on average."""
    return min(int(np.ceil(batch)), len(clock.decode_work) - 1)


@inlined
def joules(clock: Clock, seconds: float, tokens: float, batch: float, context: float) -> float:
    """Energy of a GPU over a step, J: idle floor, work on `tokens` and on `batch` sequences."""
    work = between(clock.work, tokens)
    if batch > 0:
        work += between(clock.decode_work[work_row(clock, batch)], context / SPACING)
    return min(clock.idle * seconds + work * clock.scale, clock.most * seconds)
