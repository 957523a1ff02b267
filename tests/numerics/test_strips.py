"""Long rows are walked in strips and by several threads; neither shows in what comes out."""

from __future__ import annotations

import os
from threading import Lock

import ml_dtypes
import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.numerics import quantize
from racktwin.numerics.chunks import VALUES, in_chunks
from racktwin.numerics.loops import PART, STRIP
from racktwin.numerics.quantization import largest_magnitude

LENGTHS = [PART * count for count in (2, STRIP - 2, STRIP, STRIP + 2, 2 * STRIP + 10)]


def weights(columns: int) -> np.ndarray:
    """Five rows of sizes from tiny to large."""
    draws = np.random.default_rng(columns)
    sizes = np.exp2(draws.integers(-20, 8, (5, columns // 8)).astype(np.float32))
    return draws.standard_normal((5, columns), dtype=np.float32) * np.repeat(sizes, 8, axis=1)


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_nvfp4_of_long_rows_is_that_of_their_pieces(columns: int, dtype: type) -> None:
    values = weights(columns).astype(dtype)
    whole = quantize(values)
    assert whole.tensor_scale == np.float32(np.abs(values.astype(np.float32)).max()) / 2688
    back = whole.dequantize()
    for first in range(0, columns, 32):
        cut = slice(first, first + 32)
        part = quantize(values[:, cut].astype(np.float32), tensor_scale=float(whole.tensor_scale))
        assert np.array_equal(whole.packed[:, first // 2 : first // 2 + 16], part.packed)
        own = whole.scales[:, first // 16 : first // 16 + 2]
        assert np.array_equal(own.view(np.uint8), part.scales.view(np.uint8))
        assert np.array_equal(back[:, cut], part.dequantize())


@pytest.mark.parametrize("columns", [*LENGTHS, PART * STRIP + 7])
def test_scales_of_whole_rows_see_every_strip(columns: int) -> None:
    values = weights(columns * 8)[:, :columns]
    found = quantize(values, "fp8_channel")
    assert np.array_equal(found.scales[:, 0], np.abs(values).max(1) / np.float32(448))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("wrong", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_anywhere(dtype: type, wrong: float) -> None:
    for column in (0, PART * STRIP - 1, PART * STRIP, PART * STRIP + 31):
        values = np.ones((2, PART * STRIP + 32), dtype)
        values[1, column] = wrong
        assert not np.isfinite(largest_magnitude(values))
        with pytest.raises(BadInput, match="1 of 2,112 values are NaN or infinite"):
            quantize(values)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_the_largest_magnitude_has_no_sign(dtype: type) -> None:
    values = np.linspace(-3, 2, 70, dtype=np.float32).reshape(7, 10).astype(dtype)
    assert largest_magnitude(values) == 3
    assert largest_magnitude(-values) == 3
    assert largest_magnitude(np.zeros((2, 3), dtype)) == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 9, 50])
def test_every_row_is_done_once(threads: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: threads)
    seen: list[int] = []
    lock = Lock()

    def run(part: slice) -> None:
        with lock:
            seen.extend(range(part.start, part.stop))

    in_chunks(run, 3 * count, VALUES // 2, tall=2)
    assert sorted(seen) == list(range(3 * count))


def test_a_fault_in_a_thread_is_told() -> None:
    def run(part: slice) -> None:
        if part.start == 40:
            raise ValueError("row 40")

    with pytest.raises(ValueError, match="row 40"):
        in_chunks(run, 64, VALUES)
