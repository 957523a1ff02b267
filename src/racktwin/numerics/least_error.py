"""Block scales of least squared error, tried one by one around those of the largest value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.numerics.compiled import compiled
from racktwin.numerics.recipe import Recipe

TRIED = {"e4m3": (0, 9), "e8m0": (1, 1)}  # codes above and below that of the largest value


@compiled
def try_scales(
    values: npt.NDArray[np.float32],
    wide: int,
    above: int,
    below: int,
    codes: npt.NDArray[np.uint8],
    table: npt.NDArray[np.float32],
    divisors: npt.NDArray[np.float32],
) -> None:
    """Move each block's scale code by up to `above` or `below` where that errs less, any unit.

    table: the divisor of each code. Elements are E2M1.
    """
    for row in range(values.shape[0]):
        for block in range(codes.shape[1]):
            first = np.int64(codes[row, block])
            best, error = first, np.inf
            for code in range(min(first + above, 254), max(first - below, 1) - 1, -1):
                divisor = table[code]
                squares = 0.0
                for column in range(block * wide, block * wide + wide):
                    size = min(abs(np.float32(values[row, column] / divisor)), np.float32(6.0))
                    exponent = max(np.float32(size).view(np.int32) >> 23, np.int32(127))
                    steps = np.int32((exponent + 22) << 23).view(np.float32)  # one of 2^22 is one
                    rounded = np.float32(size + steps) - steps
                    off = abs(values[row, column]) - rounded * divisor
                    squares += off * off
                if squares < error:
                    best, error = code, squares
            codes[row, block] = best
            divisors[row, block] = table[best]


def least_error(
    piece: npt.NDArray[np.float32],
    made: Recipe,
    tensor_scale: np.float32,
    scales: npt.NDArray[Any],
    divisors: npt.NDArray[np.float32],
) -> None:
    """Refine `scales` and `divisors` (any unit) of four-bit formats; eight-bit ones keep theirs."""
    if made.element != "e2m1":
        return
    every = np.arange(256, dtype=np.uint8).view(scales.dtype).astype(np.float32)
    table = np.asarray(every * (tensor_scale if made.tensor_scale else np.float32(1)), np.float32)
    above, below = TRIED[made.scale]
    try_scales(piece, made.block[1], above, below, scales.view(np.uint8), table, divisors)
