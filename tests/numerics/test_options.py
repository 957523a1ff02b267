"""What quantize and dequantize refuse, with one message each, and the ends of float32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.numerics import Quantized, dequantize, quantize
from racktwin.numerics.recipe import RECIPES

ONES = np.ones((2, 32), np.float32)
MOST = np.finfo(np.float32).max


@pytest.mark.parametrize("wrong", ["big", 1j, [1.0], True, {}, np.ones(3)])
def test_a_tensor_scale_is_a_number(wrong: Any) -> None:
    with pytest.raises(BadInput, match=f"expected a number, found {type(wrong).__name__}"):
        quantize(ONES, tensor_scale=wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf, 1e36, 1e300, 10**400, 1e-43, 1e-60])
def test_a_tensor_scale_keeps_the_products_in_float32(wrong: float) -> None:
    with pytest.raises(BadInput, match=r"expected a number of 7.17e-43 to 1.2659e\+35"):
        quantize(ONES, tensor_scale=wrong)


@pytest.mark.parametrize("fine", [1, 0.5, np.float32(0.25), np.float64(2.0), np.int64(1)])
def test_a_tensor_scale_of_any_number_type(fine: float) -> None:
    assert quantize(ONES, tensor_scale=fine).tensor_scale == np.float32(fine)


def test_a_tensor_scale_that_makes_zeros_is_refused() -> None:
    """The smallest step is 2^-9 x 0.5 of it: half of it rounds to zero, a hair more does not."""
    with pytest.raises(BadInput, match=r"1e\+30 makes zeros of all values, at most 1"):
        quantize(ONES, tensor_scale=1e30)
    with pytest.raises(BadInput, match="makes zeros"):
        quantize(ONES * 2.0**-11, tensor_scale=1.0)
    assert quantize(ONES * 2.0**-11 * 1.01, tensor_scale=1.0).dequantize().all()
    assert not quantize(ONES * 0, tensor_scale=1.0).dequantize().any()


def test_options_that_a_format_ignores_are_refused_together() -> None:
    with pytest.raises(BadInput, match="mxfp4 has no scale over the whole tensor"):
        quantize(ONES, "mxfp4", tensor_scale=1.0)
    with pytest.raises(BadInput, match="fp8 has no power-of-two scales") as caught:
        quantize(ONES, "fp8", tensor_scale=1.0, round_up=True, calibration="least")  # type: ignore[arg-type]
    assert len(caught.value.findings) == 3


@pytest.mark.parametrize("wrong", [["nvfp4"], {"a": 1}, None, 4, np.float32])
def test_a_format_is_a_name(wrong: Any) -> None:
    with pytest.raises(BadInput, match=r"format: .* is not known"):
        quantize(ONES, wrong)


@pytest.mark.parametrize("wrong", [[[1.0, 2.0], [3.0]], "weights", object(), None, {"a": 1.0}])
def test_values_that_are_no_array(wrong: Any) -> None:
    with pytest.raises(BadInput, match="values: "):
        quantize(wrong)


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(BadInput, match="a masked array has gaps"):
        quantize(np.ma.masked_array(ONES, mask=ONES > 0))


@pytest.mark.parametrize("wrong", ["foo", np.float64, np.int32, None, [], 3])
def test_what_cannot_be_given_back(wrong: Any) -> None:
    with pytest.raises(BadInput, match="dtype: expected float32, bfloat16, float16, found"):
        dequantize(quantize(ONES), wrong)


def test_dequantize_takes_what_quantize_returns() -> None:
    with pytest.raises(BadInput, match="expected what quantize returns, found ndarray"):
        dequantize(ONES)


def test_values_beyond_float32() -> None:
    values = np.ones((1, 32))
    values[0, 3] = 1e300
    with pytest.raises(BadInput, match="1 of 32 values are beyond float32") as caught:
        quantize(values)
    assert len(caught.value.findings) == 1
    values[0, 4] = np.nan
    with pytest.raises(BadInput, match="1 of 32 values are NaN or infinite") as caught:
        quantize(values)
    assert len(caught.value.findings) == 2


@pytest.mark.parametrize("name", sorted(RECIPES))
@pytest.mark.parametrize("most", [MOST, np.float32(3.4e38), np.float32(2.6e38)])
def test_the_largest_floats_stay_finite(name: str, most: np.float32) -> None:
    """The ends of float32 come back within half a step of E2M1 or clipped, never as infinity."""
    values = np.full((1, 128), most)
    values[0, ::2] = -most
    for up in (False, True) if RECIPES[name].scale == "e8m0" else (False,):
        for calibration in ("max", "mse"):
            found = quantize(values, name, round_up=up, calibration=calibration).dequantize()  # type: ignore[arg-type]
            assert np.isfinite(found).all()
            assert np.abs(found / values - 1).max() <= 0.25


def test_denormal_tensors_keep_their_values() -> None:
    """A tensor scale is at least 2^-140: its products with every E4M3 code are exact."""
    values = np.full((1, 16), 1e-42, np.float32)
    found = quantize(values)
    assert found.tensor_scale == np.float32(2.0**-140)
    assert np.abs(found.dequantize() / values - 1).max() < 0.05
    smallest = np.full((1, 16), 2.0**-149, np.float32)
    assert np.array_equal(quantize(smallest).dequantize(), smallest)


@pytest.mark.parametrize("name", ["fp8", "mxfp8", "mxfp8_e5m2", "nvfp4", "mxfp4"])
def test_what_is_too_large_for_a_type_is_refused(name: str) -> None:
    values = np.full((4, 32), 1e5, np.float32)
    with pytest.raises(BadInput, match="dtype float16: 128 of 128 values are too large for it"):
        quantize(values, name).dequantize(np.float16)
    assert np.isfinite(quantize(values, name).dequantize(ml_dtypes.bfloat16)).all()
    small = quantize(values / 2, name).dequantize(np.float16)
    assert np.isfinite(small).all()
    with pytest.raises(BadInput, match="values are too large"):
        quantize(np.full((1, 32), MOST), "fp8").dequantize(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", sorted(RECIPES))
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_values_into_an_array_that_is_there(name: str, dtype: Any) -> None:
    values = np.random.default_rng(0).standard_normal((3, 40, 96), dtype=np.float32)
    found = quantize(values, name)
    out = np.full(values.shape, np.nan, dtype)
    assert dequantize(found, out=out).base is not None
    assert np.array_equal(out, found.dequantize().astype(dtype))
    for wrong in (out[:2], out.transpose(0, 2, 1), np.empty((3, 40, 192), dtype)[..., ::2]):
        with pytest.raises(BadInput, match="out: expected shape"):
            dequantize(found, out=wrong)
    with pytest.raises(BadInput, match="expected float32, bfloat16, float16, found int64"):
        dequantize(found, out=np.empty(values.shape, np.int64))


def test_an_array_that_cannot_take_values() -> None:
    found = quantize(np.ones((4, 32), np.float32), "nvfp4")
    kept = np.zeros((4, 32), np.float32)
    kept.setflags(write=False)
    for wrong, message in (
        ([1.0], "out: expected a numpy array, found list"),
        (kept, "out: is read-only"),
        (kept.astype(kept.dtype.newbyteorder()), "out: expected bytes in this machine's order"),
    ):
        with pytest.raises(BadInput, match=message):
            found.dequantize(out=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [1, 15, 17, 128, 130, 1000])
@pytest.mark.parametrize("name", ["fp8", "fp8_e5m2", "fp8_channel", "fp8_block"])
def test_rows_of_any_length_in_eight_bits(name: str, columns: int) -> None:
    """The last columns, fewer than what is worked on together, as ml_dtypes rounds them."""
    values = np.random.default_rng(columns).standard_normal((130, columns), dtype=np.float32)
    found = quantize(values, name)
    tall, wide = found.recipe.block[0] or 130, found.recipe.block[1] or columns
    scales = found.scales.reshape(-1, -(-columns // wide))
    whole = np.repeat(np.repeat(scales, tall, 0)[:130], wide, 1)[:, :columns]
    right = (values / whole).astype(found.packed.dtype)
    assert np.array_equal(found.packed.view(np.uint8), right.view(np.uint8))
    assert np.array_equal(found.dequantize(), right.astype(np.float32) * whole)


def test_bfloat16_is_read_and_rounded_as_ml_dtypes_does() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    finite = bits[np.isfinite(bits.astype(np.float32))].reshape(-1, 32)
    assert np.array_equal(quantize(finite).packed, quantize(finite.astype(np.float32)).packed)
    values = np.random.default_rng(1).standard_normal((64, 64), dtype=np.float32)
    for name in ("nvfp4", "fp8"):
        found = quantize(values, name)
        right = found.dequantize().astype(ml_dtypes.bfloat16)
        assert np.array_equal(found.dequantize(ml_dtypes.bfloat16).view("u2"), right.view("u2"))


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("scales", lambda e: e[:0], "scales: expected one for each of"),
        ("scales", lambda e: e.view(np.uint8)[..., :1].astype(np.int16), "scales: expected"),
        ("scales", lambda e: None, "scales: expected a numpy array, found NoneType"),
        ("packed", lambda e: e[:100], "packed: holds codes of"),
        ("packed", lambda e: e.astype(np.float32), "packed: expected"),
        ("packed", lambda e: e[:0], "packed: holds no codes"),
        ("shape", lambda e: (256, 999), "packed: holds codes of"),
        ("shape", lambda e: [256, 128], "packed: holds codes of"),
        ("tensor_scale", lambda e: "1", "tensor_scale: "),
        ("tensor_scale", lambda e: np.nan, "tensor_scale: "),
        ("format", lambda e: "nvfp9", "format: 'nvfp9' is not known"),
    ],
)
def test_parts_that_do_not_belong_together(name: str, part: str, change: Any, message: str) -> None:
    """Compiled loops would read and write beyond the arrays."""
    right = quantize(np.ones((256, 128), np.float32), name)
    parts = {each: getattr(right, each) for each in Quantized.__struct_fields__}
    assert np.array_equal(Quantized(**parts).dequantize(), right.dequantize())
    with pytest.raises(BadInput, match=message):
        Quantized(**parts | {part: change(parts[part])})


def test_a_quantized_tensor_is_only_equal_to_itself() -> None:
    """Arrays have no one answer to whether they are equal."""
    first, second = quantize(ONES), quantize(ONES)
    assert first == first
    assert first != second
    assert len({first, second}) == 2
