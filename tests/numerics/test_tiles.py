"""The order of scales that tensor cores read, by its published formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.numerics import quantize, swizzle, unswizzle


@given(st.integers(1, 300), st.integers(1, 11))
def test_each_scale_lies_where_the_formula_says(rows: int, columns: int) -> None:
    """Tile (r / 128, c / 4), in it (r mod 32) x 16 + (r mod 128) / 32 x 4 + c mod 4."""
    scales = np.random.default_rng(rows).integers(1, 255, (rows, columns), dtype=np.uint8)
    tiles = swizzle(scales)
    across = -(-columns // 4)
    row, column = np.indices(scales.shape)
    tile = row // 128 * across + column // 4
    place = tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4
    assert np.array_equal(tiles[place], scales)
    assert np.count_nonzero(tiles) == scales.size
    assert np.array_equal(unswizzle(tiles, rows, columns), scales)


def test_types_are_kept_and_others_refused() -> None:
    scales = quantize(np.ones((128, 64), np.float32)).scales
    assert swizzle(scales).dtype == scales.dtype
    with pytest.raises(BadInput, match="expected a matrix of one-byte scales"):
        swizzle(np.ones((4, 4), np.float32))
    with pytest.raises(BadInput, match="128 x 8 scales fill 2 tiles of 512, found 512"):
        unswizzle(swizzle(scales), 128, 8)


def test_what_is_no_matrix_of_scales() -> None:
    with pytest.raises(BadInput, match="expected a numpy array of one-byte scales, found NoneType"):
        swizzle(None)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="expected a numpy array of one-byte scales, found list"):
        unswizzle([0] * 512, 1, 1)  # type: ignore[arg-type]
    tiles = np.zeros(512, np.uint8)
    for rows, columns, key in ((-3, 4, "rows"), ("3", 4, "rows"), (3, 4.0, "columns")):
        with pytest.raises(BadInput, match=f"{key}: expected a whole number from 0, found"):
            unswizzle(tiles, rows, columns)  # type: ignore[arg-type]
