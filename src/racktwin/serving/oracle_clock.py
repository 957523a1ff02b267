"""Time and energy of a step in plain Python: the oracle's own reading of a `Clock`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import product
from math import ceil, floor
from typing import NamedTuple

from racktwin.engine.cost import Array
from racktwin.serving.clock import SPACING, Clock


class Chunk(NamedTuple):
    """Part of a prompt in a step: `new` tokens behind `behind` cached ones.

    encode, effort: s and J of its images.
    """

    new: int
    behind: int
    encode: float = 0.0
    effort: float = 0.0


class Load(NamedTuple):
    """What a rank does in a step: tokens of its decoding sequences, how many they are, prompts."""

    tokens: int
    batch: int
    chunks: Sequence[Chunk]


def along(column: Array, position: float) -> float:
    """`column` (s or J) at a fractional index `position` (1), linear, and on beyond the end."""
    low = min(int(position), len(column) - 2)
    first, second = float(column[low]), float(column[low + 1])
    return first + (position - low) * (second - first)


def corners(axis: Array, value: float) -> list[tuple[int, float]]:
    """The two entries of `axis` (tokens or counts) around `value` and their weights."""
    points = axis.tolist()
    low = min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
    share = (value - points[low]) / (points[low + 1] - points[low])
    share = min(max(share, 0.0), 1.0)
    return [(low, 1 - share), (low + 1, share)]


def attention(clock: Clock, table: Array, chunks: Sequence[Chunk]) -> float:
    """Attention of a rank's prompts from `table` (s or J), all taken as the mean one."""
    count = float(len(chunks))
    new = sum(chunk.new for chunk in chunks) / count
    behind = sum(chunk.behind for chunk in chunks) / count
    total = 0.0
    axes = (clock.prompts, count), (clock.new, new), (clock.behind, behind)
    for (i, a), (j, b), (k, c) in product(*(corners(axis, value) for axis, value in axes)):
        total += a * b * c * float(table[i, j, k])
    return total


def depth(context: float, batch: int) -> float:
    """Mean of `context` tokens over `batch` sequences, cut to 1/4096 of a token."""
    return floor(context / batch * 4096) / 4096


def priced(
    clock: Clock,
    loads: Sequence[Load],
    context: float,
    copied: float = 0.0,
    layered: bool = True,
    aside: bool = False,
) -> tuple[float, float, float]:
    """Seconds of a step, joules of one of its GPUs, and seconds that its prompts add.

    context: tokens cached for its decoding sequences, over all ranks. copied: s in which the
    slowest rank loads units from below, beside the step if `layered`, else before it. aside: ranks
    decode or read prompts, none does both.
    """
    ranks = len(loads)
    tokens = [load.tokens + sum(chunk.new for chunk in load.chunks) for load in loads]
    total = sum(load.batch for load in loads)
    busy = [load.chunks for load in loads if load.chunks]
    mean = sum(tokens) / ranks
    seconds = clock.host + along(clock.alone, float(max(tokens))) + along(clock.shared, mean)
    work = along(clock.work, mean)
    decoding = reading = 0.0
    if total:
        place = depth(context, total) / SPACING
        decoding = along(clock.decode[max(load.batch for load in loads)], place)
        row = min(ceil(total / ranks), len(clock.decode_work) - 1)
        work += along(clock.decode_work[row], place)
    if busy:
        reading = max(
            attention(clock, clock.prefill, chunks) + sum(chunk.encode for chunk in chunks)
            for chunks in busy
        )
    seconds = seconds + max(decoding, reading) if aside else seconds + decoding + reading
    seconds *= clock.scale
    adds = seconds if busy else 0.0
    if busy and total and not aside:
        most, alone = max(load.tokens for load in loads), sum(load.tokens for load in loads) / ranks
        without = clock.host + along(clock.alone, float(most)) + along(clock.shared, alone)
        adds = max(adds - (without + decoding) * clock.scale, 0.0)
    seconds = max(seconds, copied) if layered else seconds + copied
    joules = min(clock.idle * seconds + work * clock.scale, clock.most * seconds)
    if busy:
        extra = sum(
            attention(clock, clock.prefill_work, chunks) + sum(chunk.effort for chunk in chunks)
            for chunks in busy
        )
        joules = min(joules + extra / ranks * clock.scale, clock.most * seconds)
    return seconds, joules, adds
