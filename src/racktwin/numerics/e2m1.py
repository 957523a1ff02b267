"""E2M1, the four-bit float of NVFP4 and MXFP4: sign, two exponent bits, one mantissa bit.

Codes 0..7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6; 8..15 their negatives, 8 being minus zero (OCP
Microscaling Formats 1.0, table 5). Two codes share a byte, the first in the low half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

LARGEST = 6.0
MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
VALUES = np.concatenate([MAGNITUDES, -MAGNITUDES])
BETWEEN = (MAGNITUDES[1:] + MAGNITUDES[:-1]) / 2  # a tie goes to the even code
SIGN = 8


def encode(values: npt.ArrayLike) -> Codes:
    """The nearest codes of `values` (any unit), ties to even; beyond 6 the largest.

    NaN has no code: it raises ValueError. Plain numpy, the reference of the compiled loops.
    """
    value = np.asarray(values, np.float32)
    if np.isnan(value).any():
        raise ValueError("NaN has no E2M1 code")
    size = np.abs(value)
    below = np.searchsorted(BETWEEN, size, side="left").astype(np.uint8)
    tie = (below < len(BETWEEN)) & (size == BETWEEN[np.minimum(below, len(BETWEEN) - 1)])
    code = below + (tie & (below % 2 == 1))
    return np.asarray(np.where(np.signbit(value), code + SIGN, code), np.uint8)


def decode(codes: npt.ArrayLike) -> Floats:
    """The values of codes 0..15."""
    return np.asarray(VALUES[np.asarray(codes, np.uint8)])


def pack(codes: Codes) -> Codes:
    """Two codes of the last axis into a byte, the first in the low half; an even number of them."""
    if codes.shape[-1] % 2:
        raise ValueError(f"an odd number of codes, {codes.shape[-1]}, does not fill bytes")
    return np.asarray(codes[..., 0::2] | (codes[..., 1::2] << 4), np.uint8)


def unpack(packed: Codes) -> Codes:
    """The codes of each byte, low half first."""
    both = np.stack([packed & 0xF, packed >> 4], axis=-1)
    return np.asarray(both.reshape(*packed.shape[:-1], -1), np.uint8)
