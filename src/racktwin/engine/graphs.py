"""CUDA graphs: an engine records one per batch size, and pads a decode step to the next of them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.cost import Array

Sizes = NDArray[np.int64]


class Graphs(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences of the batches that are recorded: every `step` of them up to `to`."""

    to: int
    step: int


def recorded(graphs: Iterable[Graphs], most: int) -> Sizes:
    """Batch sizes, sequences, that are recorded for batches of up to `most`, in order."""
    sizes, last = [np.zeros(0, np.int64)], 0
    for each in graphs:
        sizes.append(np.arange(last + each.step, each.to + 1, each.step))
        last = each.to
    found = np.concatenate(sizes)
    found = found[found <= most]
    return np.append(found, most) if len(found) and found[-1] < most <= last else found


def padded(tokens: Array, sizes: Sizes, queries: int) -> Array:
    """Tokens that a step of `tokens` tokens computes, padded to a batch size that is recorded.

    queries: tokens of a sequence. A step beyond the largest size runs as it is.
    """
    batch = np.ceil(tokens / queries)
    place = np.searchsorted(sizes, batch)
    known = np.append(sizes, 0)[place] * queries
    return np.where(place < len(sizes), np.maximum(known, tokens), tokens)
