"""Weights walked in pieces of bounded size, and the largest magnitude of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.weight import Weight, values
from racktwin.finding import BadInput, Finding

PIECE = 1 << 23  # values of a piece: 32 MiB of float32


def pieces(weight: Weight) -> Iterator[tuple[int, int]]:
    """First and last row of each piece; a scale's rows are not cut."""
    rows, columns = weight.shape
    if not columns:
        return  # a header may give no columns to 2^62 rows
    tall = weight.block[0]
    each = max(1, PIECE // columns // tall) * tall
    for begin in range(0, rows, each):
        yield begin, min(rows, begin + each)


def largest_of(found: Checkpoint, weights: Sequence[Weight]) -> np.float32:
    """The largest magnitude (any unit) of some weights; BadInput on NaN and infinity."""
    most = np.float32(0)
    for weight in weights:
        for begin, end in pieces(weight):
            most = max(most, _largest(values(found, weight, begin, end), weight, found))
    return most


def _largest(piece: npt.NDArray[Any], weight: Weight, found: Checkpoint) -> np.float32:
    """By bits, which order magnitudes as values do, NaN and infinity last."""
    name = weight.tensors["weight"]
    if piece.dtype == np.float64:
        with np.errstate(over="ignore"):
            piece = piece.astype(np.float32)
    if not piece.size:
        return np.float32(0)
    whole = np.dtype(f"u{piece.dtype.itemsize}")
    bits = piece.view(whole) & whole.type((1 << (8 * piece.dtype.itemsize - 1)) - 1)
    most = np.asarray(bits.max(), whole).view(piece.dtype).astype(np.float32)
    if not np.isfinite(most):
        count = int((~np.isfinite(piece.astype(np.float32))).sum())
        text = f"{count:,} values are NaN, infinite or beyond float32; no scale holds them"
        raise BadInput([Finding(name, text)], str(found.at[name].path))
    return np.float32(most)
