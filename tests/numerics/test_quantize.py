"""Formats to the bit: the published case, ml_dtypes' arithmetic, hand values, special values."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from racktwin.finding import BadInput
from racktwin.numerics import dequantize, e2m1, loops, quantize
from racktwin.numerics.recipe import DTYPES, RECIPES

finite = st.floats(-(2.0**100), 2.0**100, width=32)
matrices = arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.sampled_from([32, 64, 160])),
                         elements=finite)  # fmt: skip


def test_the_published_case(shared: Path) -> None:
    case = np.load(shared / "nvfp4" / "reference_case.npz")
    found = quantize(case["W"], "nvfp4")
    assert np.array_equal(found.packed, case["packed"])
    assert np.array_equal(found.scales.view(np.uint8), case["scale_e4m3"])
    assert found.tensor_scale == case["scale_2"]
    assert np.array_equal(found.dequantize(), case["dequant"])


def test_ties_go_to_the_even_code() -> None:
    """0.25, 0.75, ... 5 lie between two values; away from zero gives 0.5, 1, 1.5, 2, 3, 4, 6."""
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], np.float32)
    right = [0, 1, 1, 2, 2, 4, 4]
    assert e2m1.decode(e2m1.encode(ties)).tolist() == right
    block = np.zeros((1, 16), np.float32)
    block[0, :7], block[0, 7], block[0, 8:15] = ties, 6.0, -ties
    found = quantize(block, "nvfp4", tensor_scale=1.0).dequantize()[0]
    assert found[:8].tolist() == [*right, 6.0]
    assert found[8:15].tolist() == [-each for each in right]


@given(matrices)
def test_nvfp4_is_what_plain_arithmetic_says(values: np.ndarray) -> None:
    """amax / 6 / tensor scale in E4M3, elements over scale x tensor scale, rounded to even."""
    found = quantize(values, "nvfp4")
    whole = np.float32(found.tensor_scale)
    blocks = values.reshape(len(values), -1, 16)
    most = np.abs(blocks).max(-1)
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.minimum(most / np.float32(np.float32(6.0) * whole), np.float32(448.0))
        scales = wanted.astype(ml_dtypes.float8_e4m3fn)
        scales[most == 0] = 1.0
        scales[scales == 0] = 2.0**-9
        codes = e2m1.encode(blocks / (scales.astype(np.float32) * whole)[..., None])
    assert np.array_equal(found.scales.view(np.uint8), scales.view(np.uint8))
    assert np.array_equal(found.packed, e2m1.pack(codes.reshape(values.shape)))
    assert not np.isnan(found.scales.astype(np.float32)).any()
    values = e2m1.decode(codes) * (scales.astype(np.float32) * whole)[..., None]
    assert np.array_equal(found.dequantize(), values.reshape(found.shape))


@given(st.floats(0, 500, width=32))
def test_e4m3_codes_are_those_of_ml_dtypes(value: float) -> None:
    own = int(loops.e4m3_code(np.float32(value)))
    right = np.float32(min(value, 448.0)).astype(ml_dtypes.float8_e4m3fn)
    assert own == int(right.view(np.uint8))
    assert loops.e4m3_value(own) == np.float32(right)


@pytest.mark.parametrize(("name", "element"), [("fp8", "e4m3"), ("fp8_e5m2", "e5m2")])
@given(values=matrices)
def test_fp8_is_what_ml_dtypes_rounds_to(name: str, element: str, values: np.ndarray) -> None:
    found = quantize(values, name)
    scale = found.scales.reshape(-1)[0]
    scaled = values / scale
    most = float(ml_dtypes.finfo(DTYPES[element]).max)
    right = np.clip(scaled, -most, most).astype(DTYPES[element])
    assert np.array_equal(found.packed.view(np.uint8), right.view(np.uint8))
    assert np.array_equal(found.dequantize(), right.astype(np.float32) * scale)


@pytest.mark.parametrize(("name", "top"), [("mxfp4", 2), ("mxfp8", 8), ("mxfp8_e5m2", 15)])
@given(values=matrices)
def test_mx_scales_are_the_exponent_of_the_largest(name: str, top: int, values: np.ndarray) -> None:
    """OCP Microscaling 1.0: 2^(floor(log2 amax) - emax of the element), saturating elements."""
    found = quantize(values, name)
    blocks = values.reshape(len(values), -1, 32)
    most = np.abs(blocks).max(-1)
    exponent = np.frexp(np.where(most > 0, most, 1))[1] - 1 - top
    exponent = np.where(most > 0, exponent, 0)
    code = np.clip(exponent + 127, 1, 254)
    normal = (most == 0) | (most >= np.finfo(np.float32).tiny)
    assert np.array_equal(found.scales.view(np.uint8)[normal], code[normal])
    if name == "mxfp4":
        scale = found.scales.astype(np.float32)[..., None]
        right = e2m1.encode(blocks / scale)
        assert np.array_equal(found.packed, e2m1.pack(right.reshape(values.shape)))


@pytest.mark.parametrize("name", ["mxfp4", "mxfp8", "mxfp8_e5m2"])
@given(values=matrices)
def test_scales_rounded_up_clip_nothing_and_no_smaller_ones_do(
    name: str, values: np.ndarray
) -> None:
    found = quantize(values, name, round_up=True)
    blocks = np.abs(values.reshape(len(values), -1, 32)).max(-1)
    scale = found.scales.astype(np.float64)
    reach = RECIPES[name].largest
    inside = (blocks > 2.0**-100) & (blocks < 2.0**99)
    assert np.all(blocks[inside] <= (scale * reach)[inside])
    assert np.all(blocks[inside] > (scale / 2 * reach)[inside])


def test_blocks_of_128_may_be_short() -> None:
    """1,000 rows and 130 columns: 8 x 2 scales, the last of 104 rows and 2 columns."""
    values = np.ones((1000, 130), np.float32)
    values[896:, 128:] = 448.0
    found = quantize(values, "fp8_block")
    assert found.scales.shape == (8, 2)
    assert found.scales[7, 1] == 1.0
    assert found.scales[0, 0] == np.float32(1 / 448)
    assert np.array_equal(found.dequantize(), values)


def test_degenerate_blocks() -> None:
    """Zeros: scale 1. A block too small for the smallest scale: that scale. Zeros all over."""
    values = np.zeros((1, 48), np.float32)
    values[0, 0], values[0, 16] = 6 * 448.0, 1e-6
    found = quantize(values, "nvfp4")
    assert found.tensor_scale == 1.0
    assert found.scales.astype(np.float32).tolist() == [[448.0, 2.0**-9, 1.0]]
    assert found.dequantize()[0, 0] == 2688.0
    assert not found.dequantize()[0, 1:].any()
    nothing = quantize(np.zeros((2, 16), np.float32), "nvfp4")
    assert nothing.tensor_scale == 1.0
    assert not nothing.dequantize().any()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_what_no_scale_holds_is_refused(name: str, wrong: float) -> None:
    values = np.ones((4, 128), np.float32)
    values[2, 5] = wrong
    with pytest.raises(BadInput, match="1 of 512 values are NaN or infinite"):
        quantize(values, name)


def test_shapes() -> None:
    with pytest.raises(BadInput, match="blocks of 16 along the last axis, and 20 is no multiple"):
        quantize(np.ones((2, 20), np.float32))
    padded = quantize(np.ones((2, 20), np.float32), pad=True)
    assert padded.packed.shape == (2, 16)
    assert padded.dequantize().shape == (2, 20)
    assert np.array_equal(padded.dequantize(), np.ones((2, 20)))
    deep = quantize(np.ones((3, 4, 32), np.float32), "mxfp4")
    assert (deep.packed.shape, deep.scales.shape) == ((3, 4, 16), (3, 4, 1))
    assert quantize(np.ones(16, np.float32)).dequantize().shape == (16,)
    assert quantize(np.ones((0, 16), np.float32)).dequantize().shape == (0, 16)
    with pytest.raises(BadInput, match="a single number"):
        quantize(np.float32(1.0))
    with pytest.raises(BadInput, match="found int64"):
        quantize(np.ones((1, 16), np.int64))
    with pytest.raises(BadInput, match="did you mean 'nvfp4'"):
        quantize(np.ones((1, 16), np.float32), "nvfp")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_dtypes_in_and_out(dtype: type) -> None:
    values = np.random.default_rng(0).standard_normal((64, 256)).astype(dtype)
    found = quantize(values)
    wide = found.dequantize()
    assert np.array_equal(found.packed, quantize(values.astype(np.float32)).packed)
    assert np.array_equal(dequantize(found, dtype), wide.astype(dtype))


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).standard_normal((1024, 512), dtype=np.float32)
    many = quantize(values, "nvfp4")
    monkeypatch.setattr("racktwin.numerics.chunks.ALONE", 1 << 40)
    one = quantize(values, "nvfp4")
    assert np.array_equal(many.packed, one.packed)
    assert np.array_equal(many.scales.view(np.uint8), one.scales.view(np.uint8))
    assert np.array_equal(many.dequantize(), one.dequantize())


@pytest.mark.parametrize("name", ["nvfp4", "mxfp4"])
def test_least_error_never_errs_more(name: str) -> None:
    values = np.random.default_rng(2).standard_normal((128, 512), dtype=np.float32)
    most, least = quantize(values, name), quantize(values, name, calibration="mse")
    errors = [
        ((each.dequantize() - values) ** 2).reshape(128, -1, RECIPES[name].block[1]).sum(-1)
        for each in (most, least)
    ]
    assert np.all(errors[1] <= errors[0] * (1 + 1e-6))
    assert errors[1].sum() < 0.95 * errors[0].sum()


def _gaussian_error() -> float:
    """Relative RMS error of normal values in blocks of 16 whose scale is their largest over 6.

    By quadrature over the largest magnitude m of a block, density 16 (2F(m)-1)^15 2f(m), and over
    the other 15, normal within [-m, m]; the scale is not rounded.
    """
    nodes, weights = np.polynomial.legendre.leggauss(400)
    m = 3.5 + 3.5 * nodes
    from math import erf

    inside = np.array([erf(each / 2**0.5) for each in m])
    density = 16 * inside**15 * 2 * np.exp(-(m**2) / 2) / (2 * np.pi) ** 0.5
    total = 0.0
    for top, share, weight, within in zip(m, density, weights * 3.5, inside, strict=True):
        edges = np.concatenate([[0], e2m1.BETWEEN, [6]]) * top / 6
        squares = 0.0
        for low, high, value in zip(edges, edges[1:], e2m1.MAGNITUDES * top / 6, strict=False):
            x = (low + high) / 2 + (high - low) / 2 * nodes
            normal = 2 * np.exp(-(x**2) / 2) / (2 * np.pi) ** 0.5
            squares += (high - low) / 2 * (weights * normal * (x - value) ** 2).sum()
        total += weight * share * 15 / 16 * squares / within
    return float(total**0.5)


def test_gaussian_error_is_that_of_theory() -> None:
    """With scales that E4M3 holds exactly the error is that of the quadrature, to 0.1 %."""
    rng = np.random.default_rng(3)
    squares, power = 0.0, 0.0
    for _ in range(40):
        values = rng.standard_normal((8192, 16), dtype=np.float32)
        most = np.abs(values).max(1, keepdims=True)
        scaled = values / most * np.float32(6.0)  # each block's scale is then 1
        off = (quantize(scaled, tensor_scale=1.0).dequantize() - scaled) * most / 6
        squares += float((off.astype(float) ** 2).sum())
        power += float((values.astype(float) ** 2).sum())
    assert (squares / power) ** 0.5 == pytest.approx(_gaussian_error(), rel=1e-3)


def _nvfp4_error(tensor_scale: float) -> float:
    """Relative RMS error of normal values in NVFP4, scales rounded to E4M3 and what they clip.

    Over the largest magnitude m of a block as above; the squared error of the other 15 in closed
    form, the integral of (x - v)^2 f(x) being (1 + v^2) F(x) - x f(x) + 2 v f(x).
    """
    from math import erf

    m = (np.arange(40_000) + 0.5) * 8 / 40_000
    inside = np.array([erf(each / 2**0.5) for each in m])
    density = 16 * inside**15 * 2 * np.exp(-(m**2) / 2) / (2 * np.pi) ** 0.5 * 8 / 40_000
    steps = np.clip(m / 6 / tensor_scale, 2.0**-9, 448).astype(ml_dtypes.float8_e4m3fn)
    scale = steps.astype(float) * tensor_scale
    own = np.minimum(np.searchsorted(e2m1.BETWEEN, m / scale), 7)
    top = (m - e2m1.MAGNITUDES[own] * scale) ** 2
    rest = np.zeros(len(m))
    edges = np.concatenate([[0], e2m1.BETWEEN, [np.inf]])
    for low, high, value in zip(edges, edges[1:], e2m1.MAGNITUDES, strict=False):
        v = value * scale
        ends = []
        for edge in (low, high):
            x = np.minimum(edge * scale if edge else 0 * m, m)
            f = np.exp(-(x**2) / 2) / (2 * np.pi) ** 0.5
            whole = np.array([erf(each / 2**0.5) for each in x]) / 2
            ends.append((1 + v**2) * whole - x * f + 2 * v * f)
        rest += 2 * (ends[1] - ends[0])
    return float((density * (top + 15 * rest / inside)).sum() / 16) ** 0.5


def test_gaussian_error_of_the_format_is_that_of_theory() -> None:
    """As it is used, tensor scale and E4M3 rounding and all: to 0.1 %."""
    values = np.random.default_rng(5).standard_normal((4096, 4096), dtype=np.float32)
    found = quantize(values)
    assert found.tensor_scale is not None
    off = found.dequantize() - values
    squares = np.square(off, dtype=float).sum() / np.square(values, dtype=float).sum()
    assert squares**0.5 == pytest.approx(_nvfp4_error(float(found.tensor_scale)), rel=1e-3)
