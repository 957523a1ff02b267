"""The compiled loops over tensors: largest magnitudes, scale codes, element codes, values.

All walk matrices row by row; a block is `tall` rows and `each` parts of 16 columns, the last ones
may be short.
Rounding is to nearest, ties to even: by adding a float whose last bit is one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.numerics.compiled import compiled

Floats = npt.NDArray[np.float32]
Bits = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
PART = 16  # columns worked on together: divides every block but those of a whole row
STRIP = 64  # parts taken through all steps of a loop: they stay in a core's nearest cache
SIGNLESS, INFINITE = np.int32(0x7FFFFFFF), np.int32(0x7F800000)


@compiled.inlined
def part_maxima(bits: Bits, fours: Bits, most: Bits) -> None:
    """Bits of the largest magnitude (any unit) of each part of 16; NaN is larger than infinity.

    fours: room for four a part: in two steps of four this compiles to wide instructions.
    """
    for four in range(4 * most.shape[0]):
        at = 4 * four
        one = max(bits[at] & SIGNLESS, bits[at + 1] & SIGNLESS)
        two = max(bits[at + 2] & SIGNLESS, bits[at + 3] & SIGNLESS)
        fours[four] = max(one, two)
    for part in range(most.shape[0]):
        at = 4 * part
        most[part] = max(max(fours[at], fours[at + 1]), max(fours[at + 2], fours[at + 3]))


@compiled
def largest(bits: Bits, tall: int, each: int, fours: Bits, most: Bits, found: Bits) -> None:
    """Bits of the largest magnitude (any unit) of each block; NaN is larger than infinity.

    each: parts of a block, which is `tall` rows; found: starts as zeros. fours, most: room for a
    strip's.
    """
    columns = bits.shape[1]
    whole = columns // PART
    for row in range(bits.shape[0]):
        own = found[row // tall]
        for first in range(0, whole, STRIP):
            last = min(first + STRIP, whole)
            part_maxima(bits[row, PART * first : PART * last], fours, most[: last - first])
            for part in range(first, last):
                own[part // each] = max(own[part // each], most[part - first])
        for column in range(PART * whole, columns):
            place = whole // each
            own[place] = max(own[place], bits[row, column] & SIGNLESS)


@compiled.inlined
def code_of(scaled: float, most: float, mantissa: int, first: int) -> int:
    """The nearest code of a value `scaled` by its block's divisor, any unit, without its sign.

    most: the largest element; mantissa: bits, a count; first: exponent bits (as float32's) of
    the smallest normal element. A float whose last bit is one step of the value's octave is added.
    """
    size = min(abs(scaled), most)
    exponent = max(np.float32(size).view(np.int32) >> 23, np.int32(first))
    above = np.int32((exponent + np.int32(23 - mantissa)) << 23)
    steps = np.float32(size + above.view(np.float32)).view(np.int32) - above
    return np.int32(steps + ((exponent - np.int32(first)) << np.int32(mantissa)))


@compiled.inlined
def e4m3_code(value: float) -> int:
    """The nearest E4M3 code of a magnitude `value` (any unit), at most that of 448."""
    return code_of(value, np.float32(448.0), 3, 121)


@compiled.inlined
def e4m3_value(code: int) -> float:
    """The value of an E4M3 code 0..126, any unit."""
    small = np.float32(np.float32(code) * np.float32(2.0**-9))
    return small if code < 8 else np.int32((code + 960) << 20).view(np.float32)


@compiled.inlined
def e4m3_row(most: Bits, whole: float, tensor_scale: float, scales: Codes, divisors: Floats) -> int:
    """Block scales of a row of NVFP4 and what elements are divided by; blocks not finite.

    most: bits of magnitudes; whole: 6 x tensor_scale, any unit. A block of zeros gets scale 1, one
    too small for the smallest scale gets that one.
    """
    wrong = 0
    for block in range(scales.shape[0]):
        bits = most[block]
        wrong += bits >= INFINITE
        code = np.int32(e4m3_code(np.float32(np.int32(bits).view(np.float32) / whole)))
        code = np.int32(56) if bits == 0 else max(code, np.int32(1))
        scales[block] = code
        divisors[block] = e4m3_value(code) * tensor_scale
    return wrong


@compiled
def e4m3_scales(
    most: Bits, whole: float, tensor_scale: float, scales: Codes, divisors: Floats
) -> int:
    """Block scales of rows of NVFP4, as `e4m3_row`; whole, tensor_scale: any unit."""
    wrong = 0
    for row in range(most.shape[0]):
        wrong += e4m3_row(most[row], whole, tensor_scale, scales[row], divisors[row])
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
def e2m1_row(values: Floats, divisors: Floats, each: int, packed: Codes, codes: Codes) -> None:
    """Element codes of one row of `values` (any unit), two to a byte.

    divisors: of blocks of `each` times 16 values (any unit); codes: room for those of the row.
    Parts of a fixed length compile to wide instructions.
    """
    for part in range(divisors.shape[0] * each):
        divisor = divisors[part // each]
        for place in range(16):
            scaled = np.float32(values[16 * part + place] / divisor)
            sign = (scaled.view(np.int32) >> 28) & np.int32(8)
            code = code_of(scaled, np.float32(6.0), 1, 127)
            codes[16 * part + place] = np.uint8(code | sign)
    for byte in range(packed.shape[0]):
        packed[byte] = codes[2 * byte] | (codes[2 * byte + 1] << np.uint8(4))


@compiled
def e2m1_rows(values: Floats, divisors: Floats, each: int, packed: Codes, codes: Codes) -> None:
    """Element codes of rows of `values` over their block's divisor, as `e2m1_row`, any unit."""
    for row in range(values.shape[0]):
        e2m1_row(values[row], divisors[row], each, packed[row], codes)


@compiled.inlined
def nvfp4_strip(
    values: Floats, bits: Bits, whole: float, tensor_scale: float, scales: Codes, packed: Codes,
    fours: Bits, most: Bits, divisors: Floats, codes: Codes,
) -> int:  # fmt: skip
    """Scales and elements of at most a strip's blocks, as `nvfp4_blocks`.

    whole, tensor_scale: any unit.
    """
    count = scales.shape[0]
    part_maxima(bits, fours, most[:count])
    wrong = e4m3_row(most[:count], whole, tensor_scale, scales, divisors)
    e2m1_row(values, divisors[:count], 1, packed, codes)
    return wrong


@compiled
def nvfp4_blocks(
    values: Floats, bits: Bits, whole: float, tensor_scale: float, scales: Codes, packed: Codes,
    fours: Bits, most: Bits, divisors: Floats, codes: Codes,
) -> int:  # fmt: skip
    """Scales and elements of NVFP4 of `values`, all rows end to end; blocks that are not finite.

    bits: those of `values`, any unit; whole: 6 x tensor_scale, any unit. fours, most, divisors,
    codes: room for a strip's.
    """
    wrong = 0
    for first in range(0, scales.shape[0], STRIP):
        last = min(first + STRIP, scales.shape[0])
        begin, end = 16 * first, 16 * last
        wrong += nvfp4_strip(
            values[begin:end], bits[begin:end], whole, tensor_scale, scales[first:last],
            packed[8 * first : 8 * last], fours, most, divisors, codes,
        )  # fmt: skip
    return wrong


@compiled
def nvfp4_blocks_of_bfloat16(
    narrow: Any, values: Floats, bits: Bits, whole: float, tensor_scale: float, scales: Codes,
    packed: Codes, fours: Bits, most: Bits, divisors: Floats, codes: Codes,
) -> int:  # fmt: skip
    """As `nvfp4_blocks`, of values (any unit) in bfloat16, given as 16-bit integers.

    whole, tensor_scale: any unit. values and bits: the same room for a strip's.
    """
    wrong = 0
    for first in range(0, scales.shape[0], STRIP):
        last = min(first + STRIP, scales.shape[0])
        own = narrow[16 * first : 16 * last]
        count = own.shape[0]
        for place in range(count):
            bits[place] = np.int32(own[place]) << np.int32(16)
        wrong += nvfp4_strip(
            values[:count], bits[:count], whole, tensor_scale, scales[first:last],
            packed[8 * first : 8 * last], fours, most, divisors, codes,
        )  # fmt: skip
    return wrong


@compiled
def float8_rows(
    values: Floats,
    divisors: Floats,
    tall: int,
    each: int,
    element: tuple[int, int, float],
    codes: Codes,
) -> None:
    """Codes of an 8-bit float of `values` over their block's divisor, any unit.

    element: mantissa bits, exponent bits of the smallest normal, and largest value, as `code_of`.
    """
    mantissa, first, most = np.int32(element[0]), np.int32(element[1]), np.float32(element[2])
    whole = values.shape[1] // PART
    for row in range(values.shape[0]):
        for part in range(whole):
            divisor = divisors[row // tall, part // each]
            for place in range(PART):
                scaled = np.float32(values[row, PART * part + place] / divisor)
                sign = (scaled.view(np.int32) >> 24) & np.int32(128)
                code = code_of(scaled, most, mantissa, first)
                codes[row, PART * part + place] = np.uint8(code | sign)
        for column in range(PART * whole, values.shape[1]):
            scaled = np.float32(values[row, column] / divisors[row // tall, whole // each])
            sign = (scaled.view(np.int32) >> 24) & np.int32(128)
            codes[row, column] = np.uint8(code_of(scaled, most, mantissa, first) | sign)


@compiled
def widen(narrow: Any, bits: Bits) -> None:
    """Bits of float32 of rows in bfloat16 (any unit), given as 16-bit integers."""
    for row in range(narrow.shape[0]):
        for column in range(narrow.shape[1]):
            bits[row, column] = np.int32(narrow[row, column]) << 16


@compiled.inlined
def bfloat16_of(bits: int) -> int:
    """bfloat16, as a 16-bit integer, of the bits of a float32 (any unit), ties to even."""
    up = bits + np.int32(0x7FFF) + ((bits >> 16) & 1)
    held = (bits & SIGNLESS) > INFINITE  # NaN, which rounding could make infinite
    return np.int16((bits if held else up) >> 16)


@compiled
def narrow(bits: Bits, brief: Any) -> None:
    """Rows in bfloat16, as 16-bit integers, of the bits of float32 (any unit), ties to even."""
    for row in range(bits.shape[0]):
        for column in range(bits.shape[1]):
            brief[row, column] = bfloat16_of(bits[row, column])


@compiled
def largest_of_all(bits: Any, signless: Any) -> int:
    """Bits of the largest magnitude (any unit) of a matrix; NaN is larger than infinity.

    signless: all bits but the sign's, as those of `bits`, 32 or 16.
    """
    most = signless & 0
    for row in range(bits.shape[0]):
        for column in range(bits.shape[1]):
            most = max(most, bits[row, column] & signless)
    return most


@compiled
def look_up_pairs(packed: Codes, scales: Codes, half: int, table: Any, values: Any) -> None:
    """Two values for each byte, from a table (scale code, byte); half: bytes of a block."""
    for row in range(packed.shape[0]):
        for block in range(scales.shape[1]):
            own = table[scales[row, block]]
            for byte in range(block * half, min(packed.shape[1], block * half + half)):
                values[row, byte] = own[packed[row, byte]]


@compiled.inlined
def e2m1_parts(
    packed: Codes, scales: Codes, factors: Floats, each: int, codes: Codes, values: Floats
) -> None:
    """Values (any unit) of a strip, as `e2m1_values`.

    Sizes 0 and 0.5 are the mantissa of a float from 1, less that 1.
    """
    twice = each - 1  # shifted by, as a division would take longer than the values of a part
    one, half = np.int32(0x3F800000), np.int32(0x3F000000)
    for byte in range(packed.shape[0]):
        codes[2 * byte] = packed[byte] & np.uint8(15)
        codes[2 * byte + 1] = packed[byte] >> np.uint8(4)
    for part in range(scales.shape[0] * each):
        factor = factors[scales[part >> twice]]
        for place in range(16):
            code = np.int32(codes[16 * part + place])
            size = code & np.int32(7)
            small = size < np.int32(2)
            bits = np.int32((size << np.int32(22)) + (one if small else half))
            less = np.float32(1) if small else np.float32(0)
            value = np.float32(bits.view(np.float32) - less).view(np.int32)
            sign = (code & np.int32(8)) << np.int32(28)
            values[16 * part + place] = np.int32(value | sign).view(np.float32) * factor


@compiled
def e2m1_values(
    packed: Codes, scales: Codes, factors: Floats, each: int, codes: Codes, values: Floats
) -> None:
    """Values (any unit) of packed codes times the factor (any unit) of their block's scale.

    All are rows end to end. each: parts of 16 of a block, 1 or 2; codes: room for those of a strip.
    """
    wide = 16 * each
    for first in range(0, scales.shape[0], STRIP):
        last = min(first + STRIP, scales.shape[0])
        begin, end = wide * first, wide * last
        own, by = packed[begin // 2 : end // 2], scales[first:last]
        e2m1_parts(own, by, factors, each, codes, values[begin:end])


@compiled
def e2m1_values_in_bfloat16(
    packed: Codes, scales: Codes, factors: Floats, each: int, codes: Codes,
    values: Floats, bits: Bits, brief: Any,
) -> None:  # fmt: skip
    """As `e2m1_values` (any unit), into bfloat16, as 16-bit integers.

    values and bits: the same room for a strip's.
    """
    wide = 16 * each
    for first in range(0, scales.shape[0], STRIP):
        last = min(first + STRIP, scales.shape[0])
        begin, end = wide * first, wide * last
        own, by = packed[begin // 2 : end // 2], scales[first:last]
        e2m1_parts(own, by, factors, each, codes, values)
        into = brief[begin:end]
        for place in range(into.shape[0]):
            into[place] = bfloat16_of(bits[place])


@compiled
def scaled_rows(
    codes: Codes, table: Floats, factors: Floats, tall: int, each: int, values: Floats
) -> None:
    """Values (any unit) of codes, from a table of 256, times their block's factor.

    each: parts of a block, which is `tall` rows.
    """
    whole = codes.shape[1] // PART
    for row in range(codes.shape[0]):
        for part in range(whole):
            factor = factors[row // tall, part // each]
            for place in range(PART):
                at = PART * part + place
                values[row, at] = table[codes[row, at]] * factor
        for place in range(PART * whole, codes.shape[1]):
            values[row, place] = table[codes[row, place]] * factors[row // tall, whole // each]
