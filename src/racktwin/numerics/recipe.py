"""The formats: which element, how many share a scale, and what the scale is."""

from __future__ import annotations

from math import frexp
from typing import Literal

import ml_dtypes
import msgspec
import numpy as np

from racktwin.finding import BadInput, unknown

Element = Literal["e2m1", "e4m3", "e5m2"]
Scale = Literal["e4m3", "e8m0", "float32"]
LARGEST: dict[str, float] = {"e2m1": 6.0, "e4m3": 448.0, "e5m2": 57344.0}
# Mantissa bits; exponent of the smallest normal (2^-6, 2^-14) + 127; largest value.
ELEMENT = {"e4m3": (3, 121, 448.0), "e5m2": (2, 113, 57344.0)}
DTYPES: dict[str, np.dtype[np.generic]] = {
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "float32": np.dtype(np.float32),
}


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How a tensor is stored.

    block: elements along the rows and along the last axis that share a scale; 0 is the whole axis.
    tensor_scale: one more float32 scale over the whole tensor, so that block scales keep in range.
    """

    name: str
    element: Element
    scale: Scale
    block: tuple[int, int]
    tensor_scale: bool = False

    @property
    def largest(self) -> float:
        """The largest element, any unit."""
        return LARGEST[self.element]

    @property
    def exponent(self) -> int:
        """Power of two of the largest element, a count."""
        return frexp(self.largest)[1] - 1

    @property
    def bits(self) -> int:
        """Bits of an element, a count."""
        return 4 if self.element == "e2m1" else 8

    @property
    def scale_bytes(self) -> int:
        """Bytes of one block scale."""
        return DTYPES[self.scale].itemsize

    @property
    def block_values(self) -> int:
        """Values that share a scale; 0 where that is a whole row or tensor."""
        return self.block[0] * self.block[1]

    def bytes(self, rows: int, columns: int) -> int:
        """Bytes of a matrix with its scales."""
        across, along = self.blocks(rows, columns)
        scales = across * along * self.scale_bytes
        return rows * columns * self.bits // 8 + scales + 4 * self.tensor_scale

    def blocks(self, rows: int, columns: int) -> tuple[int, int]:
        """Scales along the rows and along the columns; the last ones may stand for fewer."""
        tall, wide = self.block[0] or rows, self.block[1] or columns
        return -(-rows // max(tall, 1)), -(-columns // max(wide, 1))


# NVFP4: NVIDIA, Introducing NVFP4 (2025-06). MX: OCP Microscaling Formats 1.0. Blocks of 128 x 128:
# DeepSeek-V3 technical report, section 3.3.
RECIPES: dict[str, Recipe] = {
    each.name: each
    for each in (
        Recipe(name="nvfp4", element="e2m1", scale="e4m3", block=(1, 16), tensor_scale=True),
        Recipe(name="mxfp4", element="e2m1", scale="e8m0", block=(1, 32)),
        Recipe(name="mxfp8", element="e4m3", scale="e8m0", block=(1, 32)),
        Recipe(name="mxfp8_e5m2", element="e5m2", scale="e8m0", block=(1, 32)),
        Recipe(name="fp8", element="e4m3", scale="float32", block=(0, 0)),
        Recipe(name="fp8_e5m2", element="e5m2", scale="float32", block=(0, 0)),
        Recipe(name="fp8_channel", element="e4m3", scale="float32", block=(1, 0)),
        Recipe(name="fp8_block", element="e4m3", scale="float32", block=(128, 128)),
    )
}


def recipe(name: str) -> Recipe:
    """The format called `name`; BadInput with the nearest name."""
    if name not in RECIPES:
        raise BadInput([unknown("format", str(name), RECIPES)])
    return RECIPES[name]
