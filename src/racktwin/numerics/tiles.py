"""Block scales in the order that tensor cores read: tiles of 128 rows and 4 scales.

Within a tile the scales of row 32 a + b lie at 16 b + 4 a; what is missing at the edges is zero
(NVIDIA cuBLAS documentation, 1D block scaling factors layout).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding

ROWS, COLUMNS = 128, 4  # of a tile
Scales = npt.NDArray[Any]


def swizzle(scales: Scales) -> Scales:
    """All tiles of a matrix of scales (rows, scales of a row; one byte each), end to end."""
    _check(scales, "scales", "swizzle")
    if scales.ndim != 2:
        text = f"expected a matrix of one-byte scales, found {scales.shape} of {scales.dtype}"
        raise BadInput([Finding("scales", text)], "swizzle")
    rows, columns = scales.shape
    down, across = -(-rows // ROWS), -(-columns // COLUMNS)
    whole = np.zeros((down * ROWS, across * COLUMNS), np.uint8)
    whole[:rows, :columns] = scales.view(np.uint8)
    tiles = whole.reshape(down, 4, 32, across, COLUMNS).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(tiles).reshape(-1).view(scales.dtype)


def unswizzle(tiles: Scales, rows: int, columns: int) -> Scales:
    """The matrix of `rows` x `columns` scales (one byte each) whose tiles these are."""
    _check(tiles, "tiles", "unswizzle")
    for key, count in (("rows", rows), ("columns", columns)):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            text = f"expected a whole number from 0, found {count!r}"
            raise BadInput([Finding(key, text)], "unswizzle")
    down, across = -(-rows // ROWS), -(-columns // COLUMNS)
    if tiles.size != down * across * ROWS * COLUMNS:
        text = f"{rows} x {columns} scales fill {down * across} tiles of 512, found {tiles.size}"
        raise BadInput([Finding("tiles", text)], "unswizzle")
    whole = tiles.view(np.uint8).reshape(down, across, 32, 4, COLUMNS).transpose(0, 3, 2, 1, 4)
    flat = whole.reshape(down * ROWS, across * COLUMNS)[:rows, :columns]
    return np.ascontiguousarray(flat).view(tiles.dtype)


def _check(given: Any, key: str, verb: str) -> None:
    """One-byte scales in an array, or BadInput."""
    if not isinstance(given, np.ndarray):
        text = f"expected a numpy array of one-byte scales, found {type(given).__name__}"
    elif given.itemsize != 1:
        text = f"expected a matrix of one-byte scales, found {given.shape} of {given.dtype}"
    else:
        return
    raise BadInput([Finding(key, text)], verb)
