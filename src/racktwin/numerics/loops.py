"""The compiled loops over tensors: largest magnitudes, scale codes, element codes, values.

All walk matrices row by row; a block is `tall` rows and `wide` columns, the last ones may be short.
Rounding is to nearest, ties to even: above the smallest normal number by adding half of the last
kept bit to the bits, below it by adding a float whose last bit is one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.numerics.compiled import compiled

Floats = npt.NDArray[np.float32]
Bits = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
# A float this large has steps of 1/2, or of 2^-9: adding it rounds to them.
HALVES, STEPS_9 = np.float32(2.0**22), np.float32(2.0**14)
SIGNLESS, INFINITE, ONE = np.int32(0x7FFFFFFF), np.int32(0x7F800000), np.int32(0x3F800000)


@compiled
def largest(bits: Bits, tall: int, wide: int, found: Bits) -> None:
    """Bits of the largest magnitude (any unit) of each block; NaN is larger than infinity."""
    rows, columns = bits.shape
    for row in range(rows):
        for block in range(found.shape[1]):
            most = found[row // tall, block]
            for column in range(block * wide, min(columns, block * wide + wide)):
                most = max(most, bits[row, column] & SIGNLESS)
            found[row // tall, block] = most


@compiled
def largest_of_16(bits: Bits, found: Bits) -> None:
    """The same for blocks of one row and 16 columns."""
    for row in range(bits.shape[0]):
        for block in range(found.shape[1]):
            most = np.int32(0)
            for column in range(16):
                most = max(most, bits[row, 16 * block + column] & SIGNLESS)
            found[row, block] = most


@compiled
def e4m3_code(value: float) -> int:
    """The nearest E4M3 code of a magnitude `value` (any unit), at most that of 448."""
    bits = np.float32(min(value, np.float32(448.0))).view(np.int32)
    if bits < np.int32(0x3C800000):  # below 2^-6: steps of 2^-9
        return np.float32(value + STEPS_9).view(np.int32) - np.int32(0x46800000)
    return ((bits + np.int32(0x7FFFF) + ((bits >> 20) & 1)) >> 20) - np.int32(960)


@compiled
def e4m3_value(code: int) -> float:
    """The value of an E4M3 code 0..126, any unit."""
    if code < 8:
        return np.float32(code) * np.float32(2.0**-9)
    return np.int32((code + 960) << 20).view(np.float32)


@compiled
def e4m3_scales(
    most: Bits, whole: float, tensor_scale: float, scales: Codes, divisors: Floats
) -> int:
    """Block scales of NVFP4 and what their elements are divided by; blocks that are not finite.

    most: bits of magnitudes; whole: 6 x tensor_scale, any unit. A block of zeros gets scale 1, one
    too small for the smallest scale gets that one.
    """
    wrong = 0
    for row in range(most.shape[0]):
        for block in range(most.shape[1]):
            bits = most[row, block]
            wrong += bits >= INFINITE
            code = e4m3_code(np.float32(np.int32(bits).view(np.float32) / whole)) if bits else 56
            code = max(code, 1)
            scales[row, block] = code
            divisors[row, block] = e4m3_value(code) * tensor_scale
    return wrong


@compiled
def e8m0_scales(
    most: Bits, exponent: int, up: bool, highest: int, scales: Codes, divisors: Floats
) -> int:
    """Block scales of MX formats, powers of two; blocks that are not finite.

    exponent: of the largest element (2 for E2M1); the scale is that of the block's largest less it,
    as OCP has it, or with `up` the least that clips nothing. A block of zeros gets scale 1.
    highest: the largest code to give.
    """
    wrong = 0
    for row in range(most.shape[0]):
        for block in range(most.shape[1]):
            bits = most[row, block]
            wrong += bits >= INFINITE
            code = (bits >> 23) - exponent
            if up and (bits & np.int32(0x7FFFFF)) > np.int32(
                0x400000 if exponent == 2 else 0x600000
            ):
                code += 1
            if bits == 0:
                code = np.int32(127)
            code = min(max(code, np.int32(1)), np.int32(highest))
            scales[row, block] = code
            divisors[row, block] = np.int32(code << 23).view(np.float32)
    return wrong


@compiled.inlined
def e2m1_code(scaled: float) -> int:
    """The nearest E2M1 code of a value `scaled` by its block's divisor, any unit."""
    size = min(abs(scaled), np.float32(6.0))
    bits = np.float32(size).view(np.int32)
    normal = ((bits + np.int32(0x1FFFFF) + ((bits >> 22) & 1)) >> 22) - np.int32(252)
    small = np.float32(size + HALVES).view(np.int32) - np.int32(0x4A800000)
    code = small if bits < ONE else normal
    return code | ((np.float32(scaled).view(np.int32) >> 28) & 8)


@compiled
def e2m1_rows(
    values: Floats, divisors: Floats, tall: int, wide: int, packed: Codes, codes: Codes
) -> None:
    """Element codes of `values` over their block's divisor (any unit), two to a byte.

    codes: room for those of a row.
    """
    rows, columns = values.shape
    for row in range(rows):
        for block in range(divisors.shape[1]):
            divisor = divisors[row // tall, block]
            for column in range(block * wide, min(columns, block * wide + wide)):
                codes[column] = np.uint8(e2m1_code(values[row, column] / divisor))
        for byte in range(packed.shape[1]):
            packed[row, byte] = codes[2 * byte] | (codes[2 * byte + 1] << np.uint8(4))


@compiled
def e2m1_rows_of_16(values: Floats, divisors: Floats, packed: Codes, codes: Codes) -> None:
    """The same for blocks of 16, whose fixed length compiles to wide instructions."""
    for row in range(values.shape[0]):
        for block in range(divisors.shape[1]):
            divisor = divisors[row, block]
            for place in range(16):
                code = e2m1_code(values[row, 16 * block + place] / divisor)
                codes[16 * block + place] = np.uint8(code)
        for byte in range(packed.shape[1]):
            packed[row, byte] = codes[2 * byte] | (codes[2 * byte + 1] << np.uint8(4))


@compiled
def float8_rows(
    values: Floats,
    divisors: Floats,
    tall: int,
    wide: int,
    mantissa: int,
    least: float,
    most: float,
    codes: Codes,
) -> None:
    """Codes of an 8-bit float of `values` over their block's divisor, any unit.

    mantissa: its bits, a count; least, most: its smallest normal and its largest value, any unit.
    """
    rows, columns = values.shape
    shift = np.int32(23 - mantissa)
    half = np.int32((1 << (22 - mantissa)) - 1)
    first = np.float32(least)
    offset = (first.view(np.int32) >> shift) - np.int32(1 << mantissa)
    whole = np.float32(first * np.float32(1 << (23 - mantissa)))  # in steps of subnormals
    steps = whole.view(np.int32)
    for row in range(rows):
        for block in range(divisors.shape[1]):
            divisor = divisors[row // tall, block]
            for column in range(block * wide, min(columns, block * wide + wide)):
                scaled = values[row, column] / divisor
                size = min(abs(scaled), np.float32(most))
                bits = np.float32(size).view(np.int32)
                normal = ((bits + half + ((bits >> shift) & 1)) >> shift) - offset
                small = np.float32(size + whole).view(np.int32) - steps
                code = small if size < first else normal
                sign = (np.float32(scaled).view(np.int32) >> 24) & 128
                codes[row, column] = np.uint8(code | sign)


@compiled
def look_up_pairs(packed: Codes, scales: Codes, half: int, table: Any, values: Any) -> None:
    """Two values for each byte, from a table (scale code, byte); half: bytes of a block."""
    for row in range(packed.shape[0]):
        for block in range(scales.shape[1]):
            own = table[scales[row, block]]
            for byte in range(block * half, min(packed.shape[1], block * half + half)):
                values[row, byte] = own[packed[row, byte]]


@compiled
def scaled_rows(
    codes: Codes, table: Floats, factors: Floats, tall: int, wide: int, values: Floats
) -> None:
    """Values (any unit) of codes, from a table of 256, times their block's factor."""
    rows, columns = codes.shape
    for row in range(rows):
        for block in range(factors.shape[1]):
            factor = factors[row // tall, block]
            for column in range(block * wide, min(columns, block * wide + wide)):
                values[row, column] = table[codes[row, column]] * factor
