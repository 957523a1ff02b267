"""A tensor in a narrow format, and its values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.numerics.chunks import in_chunks
from racktwin.numerics.consistency import faults
from racktwin.numerics.e2m1 import VALUES
from racktwin.numerics.loops import (
    PART,
    STRIP,
    e2m1_values,
    e2m1_values_in_bfloat16,
    look_up_pairs,
    narrow,
    scaled_rows,
)
from racktwin.numerics.recipe import DTYPES, Recipe, recipe
from racktwin.numerics.tensor import as_torch

OUTPUTS = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}

LARGEST_OUTPUT = {
    "float32": (2 - 2.0**-23) * 2.0**127,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float16": 65504.0,
}


class Quantized(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A tensor of `shape` in a format.

    packed: uint8 with two codes a byte (the first in the low half) along the last axis, or a float8
    element each. scales: one per block; tensor_scale: float32 over all, None where there is none.
    Padding to whole blocks is in packed and scales, not in shape. BadInput where the parts do not
    belong together.
    """

    format: str
    shape: tuple[int, ...]
    packed: npt.NDArray[Any]
    scales: npt.NDArray[Any]
    tensor_scale: np.float32 | None = None

    def __post_init__(self) -> None:
        found = faults(self.format, self.shape, self.packed, self.scales, self.tensor_scale)
        if found:
            raise BadInput(found, "Quantized")

    @property
    def recipe(self) -> Recipe:
        """Of its format."""
        return recipe(self.format)

    @property
    def nbytes(self) -> int:
        """Bytes of elements and scales."""
        return self.packed.nbytes + self.scales.nbytes + 4 * (self.tensor_scale is not None)

    def torch(self) -> tuple[Any, Any, Any]:
        """packed, scales and tensor_scale as torch tensors on the same memory, where torch is."""
        whole = self.tensor_scale
        packed, scales = as_torch(self.packed), as_torch(self.scales)
        return packed, scales, None if whole is None else as_torch(np.asarray(whole))

    def dequantize(
        self, dtype: npt.DTypeLike = np.float32, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """The values, as float32, bfloat16 or float16 (rounded to nearest).

        out: an array, any unit, that takes them and decides the type; of `shape`, padding included.
        BadInput where a value is too large for `dtype`.
        """
        wanted = _output(dtype) if out is None else _own_output(out)
        wide = self.packed.shape[-1]
        four = self.recipe.element == "e2m1"
        columns = wide * (2 if four else 1)
        full = (*self.packed.shape[:-1], columns)
        if out is not None and (out.shape != full or not out.flags.c_contiguous):
            message = f"expected shape {full}, rows end to end; found {out.shape}"
            raise BadInput([Finding("out", message)], "dequantize")
        if not self.packed.size:
            return np.empty(self.shape, wanted)
        codes = self.packed.view(np.uint8).reshape(-1, wide)
        values = (np.empty(full, wanted) if out is None else out).reshape(-1, columns)
        if four:
            _pairs(self, codes, values)
        else:
            _singles(self, codes, values)
        _check_range(self, codes, values)
        return values.reshape(full)[..., : self.shape[-1]]


def _output(dtype: Any) -> np.dtype[Any]:
    try:
        wanted = np.dtype(dtype) if dtype is not None else None
    except TypeError:
        wanted = None
    if wanted is None or wanted.name not in OUTPUTS:
        shown = repr(dtype) if wanted is None else wanted.name
        message = f"expected {', '.join(OUTPUTS)}, found {shown}"
        raise BadInput([Finding("dtype", message)], "dequantize")
    wide: np.dtype[Any] = np.dtype(OUTPUTS[wanted.name])
    return wide


def _own_output(out: Any) -> np.dtype[Any]:
    """The type of an array that is to take the values; it must be one that can."""
    if not isinstance(out, np.ndarray):
        message = f"expected a numpy array, found {type(out).__name__}"
        raise BadInput([Finding("out", message)], "dequantize")
    wanted = _output(out.dtype)
    if not out.flags.writeable:
        raise BadInput([Finding("out", "is read-only")], "dequantize")
    if not out.dtype.isnative:
        message = f"expected bytes in this machine's order, found {out.dtype.str}"
        raise BadInput([Finding("out", message)], "dequantize")
    return wanted


def _check_range(found: Quantized, codes: npt.NDArray[np.uint8], values: npt.NDArray[Any]) -> None:
    """Refuse values that became infinite by the type they are wanted in.

    The scales say whether that can be; only then are the values looked at.
    """
    scales = found.scales
    if scales.dtype.itemsize == 1:  # codes order as their values, and the last one is NaN
        last = np.uint8(0x7F if found.recipe.scale == "e4m3" else 0xFF)
        bytes_ = scales.view(np.uint8)
        top = bytes_.max(initial=0)
        if top >= last:
            bytes_ = bytes_ & last
            top = bytes_[bytes_ < last].max(initial=0)
        scales = np.array([top], np.uint8).view(scales.dtype).astype(np.float32)
    largest = float(np.fmax.reduce(scales, axis=None, initial=np.float32(0)))
    reach = largest * float(found.tensor_scale or 1) * found.recipe.largest
    if reach <= LARGEST_OUTPUT[values.dtype.name]:
        return
    lost = int(np.isinf(values).sum())
    if found.recipe.element == "e5m2":  # the only elements that may be infinite themselves
        lost -= int(((codes & 0x7F) == 0x7C).sum())
    if lost > 0:
        message = f"{lost:,} of {values.size:,} values are too large for it"
        raise BadInput([Finding(f"dtype {values.dtype}", message)], "dequantize")


def _pairs(found: Quantized, codes: npt.NDArray[np.uint8], values: npt.NDArray[Any]) -> None:
    """Four-bit elements: by arithmetic, or for float16 a table of each byte under each scale."""
    scales = found.scales.view(np.uint8).reshape(len(codes), -1)
    factors, wide = scale_values(found), found.recipe.block[1]
    if values.dtype == np.float16:
        _looked_up(codes, scales, factors, wide, values)
        return

    def run(part: slice) -> None:
        room = np.empty(STRIP * wide, np.uint8)
        own, by, rows = codes[part].reshape(-1), scales[part].reshape(-1), values[part].reshape(-1)
        if rows.dtype == np.float32:
            e2m1_values(own, by, factors, wide // PART, room, rows)
            return
        some, brief = np.empty(STRIP * wide, np.float32), rows.view(np.int16)
        bits = some.view(np.int32)
        e2m1_values_in_bfloat16(own, by, factors, wide // PART, room, some, bits, brief)

    in_chunks(run, *values.shape)


def _looked_up(
    codes: npt.NDArray[np.uint8],
    scales: npt.NDArray[np.uint8],
    factors: npt.NDArray[np.float32],
    wide: int,
    values: npt.NDArray[Any],
) -> None:
    byte = np.arange(256)
    pair = np.stack([VALUES[byte & 15], VALUES[byte >> 4]], axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):  # codes that nobody uses
        table = (pair[None] * factors[:, None, None]).astype(values.dtype)
    table = np.ascontiguousarray(table).view(np.uint32)[..., 0]
    out = values.view(np.uint32)

    def run(part: slice) -> None:
        look_up_pairs(codes[part], scales[part], wide // 2, table, out[part])

    in_chunks(run, *codes.shape)


def scale_values(found: Quantized) -> npt.NDArray[np.float32]:
    """What each code of a block scale multiplies with (any unit), tensor scale included."""
    every = np.arange(256, dtype=np.uint8).view(DTYPES[found.recipe.scale]).astype(np.float32)
    whole = np.float32(1.0) if found.tensor_scale is None else np.float32(found.tensor_scale)
    return np.asarray(every * whole, np.float32)


def _singles(found: Quantized, codes: npt.NDArray[np.uint8], values: npt.NDArray[Any]) -> None:
    """Eight-bit elements: a table of 256 values times the factor of the block."""
    made = found.recipe
    element = np.arange(256, dtype=np.uint8).view(DTYPES[made.element]).astype(np.float32)
    tall, wide = made.block[0] or len(codes), made.block[1] or codes.shape[1]
    factors = found.scales.astype(np.float32).reshape(-1, -(-codes.shape[1] // max(wide, 1)))

    each = -(-wide // PART)

    def run(part: slice) -> None:
        first = part.start // tall
        rows = values[part]
        if rows.dtype != np.float32:
            rows = np.empty(rows.shape, np.float32)
        scaled_rows(codes[part], element, factors[first:], tall, each, rows)
        if values.dtype == np.float16:
            with np.errstate(over="ignore", invalid="ignore"):  # found by _check_range
                values[part] = rows
        elif values.dtype != np.float32:
            narrow(rows.view(np.int32), values[part].view(np.int16))

    in_chunks(run, codes.shape[0], codes.shape[1], tall)
