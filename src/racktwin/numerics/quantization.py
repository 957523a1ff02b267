"""From values to a narrow format: scales from the largest of each block, or by least error."""

from __future__ import annotations

from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.numerics import loops
from racktwin.numerics.chunks import in_chunks
from racktwin.numerics.least_error import least_error
from racktwin.numerics.options import LEAST_TENSOR_SCALE, options
from racktwin.numerics.quantized import Quantized
from racktwin.numerics.recipe import DTYPES, ELEMENT, LARGEST, Recipe, recipe
from racktwin.numerics.tensor import as_float32, as_matrix, as_values

Calibration = Literal["max", "mse"]


def quantize(
    values: Any,
    format: str = "nvfp4",
    *,
    calibration: Calibration = "max",
    tensor_scale: float | None = None,
    pad: bool = False,
    round_up: bool = False,
) -> Quantized:
    """A tensor in `format`, blocks along its last axis, rounded to nearest, ties to even.

    values: numpy array or torch tensor of float32, float16, bfloat16 or float64, any unit, any
    shape. calibration: 'max' scales each block by its largest value, 'mse' tries scales near it for
    the least squared error. tensor_scale: of NVFP4, largest / (6 x 448) by default, a ratio; what
    exceeds 6 x 448 of it is clipped. pad: fill the last block with zeros where the last axis is no
    multiple; refused otherwise. round_up: scales of MX formats that clip nothing instead of OCP's.
    BadInput on NaN and infinity.
    """
    made, given = options(format, calibration, tensor_scale, round_up)
    matrix, shape = as_matrix(as_values(values))
    matrix = _padded(matrix, made, pad, shape)
    whole = _tensor_scale(matrix, made, given)
    packed, scales = encode(matrix, made, whole, calibration, round_up)
    return Quantized(
        format=format,
        shape=shape,
        packed=_shaped(packed, shape),
        scales=_shaped(scales, shape) if made.block[0] == 1 and made.block[1] else scales,
        tensor_scale=whole if made.tensor_scale else None,
    )


def quantize_rows(
    matrix: npt.NDArray[Any], tensor_scale: np.float32, calibration: Calibration = "max"
) -> Quantized:
    """Rows of an NVFP4 matrix (any unit) whose tensor scale (any unit) is that of all its rows."""
    made = recipe("nvfp4")
    packed, scales = encode(matrix, made, tensor_scale, calibration)
    shape = (matrix.shape[0], matrix.shape[1])
    return Quantized(
        format="nvfp4", shape=shape, packed=packed, scales=scales, tensor_scale=tensor_scale
    )


def encode(
    matrix: npt.NDArray[Any],
    made: Recipe,
    whole: np.float32,
    calibration: Calibration = "max",
    round_up: bool = False,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Elements, packed, and block scales of a matrix (any unit); whole: its tensor scale, a ratio.

    BadInput on NaN and infinity.
    """
    tall, wide = made.block[0] or max(len(matrix), 1), made.block[1] or max(matrix.shape[1], 1)
    width = matrix.shape[1] // 2 if made.element == "e2m1" else matrix.shape[1]
    packed = np.empty((len(matrix), width), np.uint8)
    scales = np.empty(made.blocks(*matrix.shape), DTYPES[made.scale])
    wrong = np.zeros(1, np.int64)

    fused = made.name == "nvfp4" and calibration == "max"

    def run(part: slice) -> None:
        rows = slice(part.start // tall, -(-part.stop // tall))
        if fused:
            wrong[0] += _nvfp4(matrix[part], whole, scales[rows], packed[part])
            return
        piece = as_float32(matrix[part])
        divisors, bad = _scales(piece, made, whole, round_up, tall, wide, scales[rows])
        if calibration == "mse" and not bad:
            least_error(piece, made, whole, scales[rows], divisors)
        if bad:
            wrong[0] += bad
            return
        _encode(piece, divisors, made, tall, wide, packed[part])

    in_chunks(run, len(matrix), matrix.shape[1], tall)
    if wrong[0]:
        raise _unbounded(matrix)
    return packed.view(np.uint8 if made.element == "e2m1" else DTYPES[made.element]), scales


def dequantize(
    found: Any, dtype: npt.DTypeLike = np.float32, out: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """The values of a tensor in a narrow format, as float32, bfloat16 or float16.

    out: an array, any unit, that takes them; fresh memory costs as much as the values.
    """
    if not isinstance(found, Quantized):
        message = f"expected what quantize returns, found {type(found).__name__}"
        raise BadInput([Finding("found", message)], "dequantize")
    return found.dequantize(dtype, out)


def _shaped(matrix: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return matrix.reshape(*shape[:-1], matrix.shape[1]) if matrix.size else matrix


def _padded(
    matrix: npt.NDArray[Any], made: Recipe, pad: bool, shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Whole blocks along the last axis; formats of 8 bits need none with scales in float32."""
    wide = made.block[1]
    short = -matrix.shape[1] % wide if wide and made.scale != "float32" else 0
    if not short:
        return matrix
    if not pad:
        message = (
            f"{made.name} scales blocks of {wide} along the last axis, and {matrix.shape[1]:,} is "
            f"no multiple; pad=True fills {short} zeros"
        )
        raise BadInput([Finding(f"shape {shape}", message)], "quantize")
    return np.pad(matrix, ((0, 0), (0, short)))


def _unbounded(matrix: npt.NDArray[Any]) -> BadInput:
    """How many values no scale holds, and why."""
    with np.errstate(over="ignore"):
        lost = int((~np.isfinite(matrix.astype(np.float32))).sum())
    count = int((~np.isfinite(matrix)).sum())
    size = f"{matrix.size:,} values"
    found = []
    if count:
        found.append(f"{count:,} of {size} are NaN or infinite; no scale holds them")
    if lost > count:
        found.append(f"{lost - count:,} of {size} are beyond float32, which scales are kept in")
    return BadInput([Finding("values", each) for each in found], "quantize")


def _tensor_scale(matrix: npt.NDArray[Any], made: Recipe, given: np.float32 | None) -> np.float32:
    """What NVFP4 divides its block scales by; 1 for a tensor of zeros."""
    if not made.tensor_scale:
        return np.float32(1.0)
    most = largest_magnitude(matrix)
    if given is not None:
        _check_reach(most, given)
        return given
    if not 0 < most < np.inf:
        return np.float32(1.0)
    return tensor_scale_of(most)


def largest_magnitude(matrix: npt.NDArray[Any]) -> np.float32:
    """The largest magnitude of a matrix (any unit); NaN where it holds one, else infinity."""
    found: list[int] = [0]  # appending is one step of the interpreter

    def run(part: slice) -> None:
        if matrix.dtype == ml_dtypes.bfloat16:
            most = loops.largest_of_all(matrix[part].view(np.int16), np.int16(0x7FFF))
            found.append(int(most) << 16)
            return
        found.append(loops.largest_of_all(as_float32(matrix[part]).view(np.int32), loops.SIGNLESS))

    in_chunks(run, *matrix.shape)
    return np.float32(np.int32(max(found)).view(np.float32))


def tensor_scale_of(largest: np.float32 | float) -> np.float32:
    """The tensor scale of NVFP4 whose largest magnitude is `largest`, any unit, more than 0.

    largest / (6 x 448), but so that the products of scales stay in float32.
    """
    most = np.float32(largest)
    reach = np.float32(LARGEST["e2m1"] * LARGEST["e4m3"])
    found = max(most / reach, LEAST_TENSOR_SCALE)
    with np.errstate(over="ignore"):
        overflows = np.isinf(np.float32(LARGEST["e4m3"]) * found * np.float32(LARGEST["e2m1"]))
    return np.nextafter(found, np.float32(0)) if overflows else found


def _check_reach(most: np.float32, given: np.float32) -> None:
    """Refuse a tensor scale under which even the largest value rounds to zero."""
    least = np.float32(2.0**-9) * given * np.float32(0.25)  # half of the smallest step
    if 0 < most <= least:
        message = f"{given:.6g} makes zeros of all values, at most {most:.6g}"
        raise BadInput([Finding("tensor_scale", message)], "quantize")


def _scales(
    piece: npt.NDArray[np.float32], made: Recipe, whole: Any, up: bool, tall: int, wide: int,
    scales: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float32], int]:  # fmt: skip
    """Fill in the scales of the blocks; what elements are divided by, and blocks not finite."""
    most = np.zeros(scales.shape, np.int32)
    fours, own = np.empty(4 * loops.STRIP, np.int32), np.empty(loops.STRIP, np.int32)
    loops.largest(piece.view(np.int32), tall, -(-wide // loops.PART), fours, own, most)
    divisors = np.empty(scales.shape, np.float32)
    codes = scales.view(np.uint8)
    if made.scale == "e4m3":
        reach: Any = np.float32(made.largest) * whole
        return divisors, loops.e4m3_scales(most, reach, whole, codes, divisors)
    if made.scale == "e8m0":
        # The largest scale whose largest element float32 holds: rounding up must not pass it.
        highest = 254 - made.exponent
        return divisors, loops.e8m0_scales(most, made.exponent, up, highest, codes, divisors)
    values = most.view(np.float32)
    least = np.finfo(np.float32).tiny  # a smaller scale would be lost to rounding
    needed = np.maximum(values / np.float32(LARGEST[made.element]), least)
    divisors[:] = np.where(values > 0, needed, 1)
    scales[:] = divisors
    return divisors, int((~np.isfinite(values)).sum())


def _encode(
    piece: npt.NDArray[np.float32], divisors: npt.NDArray[np.float32], made: Recipe,
    tall: int, wide: int, packed: npt.NDArray[np.uint8],
) -> None:  # fmt: skip
    each = -(-wide // loops.PART)
    if made.element == "e2m1":
        codes = np.empty(piece.shape[1], np.uint8)
        loops.e2m1_rows(piece, divisors, each, packed, codes)
    else:
        loops.float8_rows(piece, divisors, tall, each, ELEMENT[made.element], packed)


def _nvfp4(
    matrix: npt.NDArray[Any],
    whole: Any,
    scales: npt.NDArray[Any],
    packed: npt.NDArray[np.uint8],
) -> int:
    """Scales from the largest values and elements in one walk; blocks that are not finite."""
    reach: Any = np.float32(LARGEST["e2m1"]) * whole
    out = reach, whole, scales.view(np.uint8).reshape(-1), packed.reshape(-1)
    room = (
        np.empty(4 * loops.STRIP, np.int32),
        np.empty(loops.STRIP, np.int32),
        np.empty(loops.STRIP, np.float32),
        np.empty(16 * loops.STRIP, np.uint8),
    )
    if matrix.dtype == ml_dtypes.bfloat16:
        narrow = np.ascontiguousarray(matrix).view(np.int16).reshape(-1)
        wide = np.empty(16 * loops.STRIP, np.float32)
        return int(loops.nvfp4_blocks_of_bfloat16(narrow, wide, wide.view(np.int32), *out, *room))
    values = as_float32(matrix).reshape(-1)
    return int(loops.nvfp4_blocks(values, values.view(np.int32), *out, *room))
