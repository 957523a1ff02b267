"""Whether the parts of a quantized tensor belong together: compiled loops do not ask again."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any

import numpy as np

from racktwin.finding import Finding
from racktwin.numerics.recipe import DTYPES, RECIPES, Recipe


def faults(format: Any, shape: Any, packed: Any, scales: Any, tensor_scale: Any) -> list[Finding]:
    """Every fault of the parts (any unit) of a tensor of `shape` in `format`."""
    made = RECIPES.get(format) if isinstance(format, str) else None
    if made is None:
        return [Finding("format", f"{str(format)!r} is not known; one of {', '.join(RECIPES)}")]
    element = np.dtype(np.uint8) if made.element == "e2m1" else DTYPES[made.element]
    found = [*_array("packed", packed, element), *_array("scales", scales, DTYPES[made.scale])]
    found += _tensor_scale(made, tensor_scale)
    return found or [*_shapes(made, shape, packed, scales)]


def _array(key: str, given: Any, dtype: np.dtype[Any]) -> Iterator[Finding]:
    if not isinstance(given, np.ndarray):
        yield Finding(key, f"expected a numpy array, found {type(given).__name__}")
    elif given.dtype != dtype:
        yield Finding(key, f"expected {dtype}, found {given.dtype}")
    elif not given.ndim:
        yield Finding(key, "expected at least one axis, found a single number")


def _tensor_scale(made: Recipe, given: Any) -> Iterator[Finding]:
    if not made.tensor_scale:
        if given is not None:
            yield Finding("tensor_scale", f"{made.name} has no scale over the whole tensor")
        return
    number = isinstance(given, int | float | np.floating | np.integer)
    if not number or isinstance(given, bool) or not 0 < given < inf:
        yield Finding("tensor_scale", f"expected a positive number, found {given!r}")


def _shapes(made: Recipe, shape: Any, packed: Any, scales: Any) -> Iterator[Finding]:
    """Codes fill the shape, the last block at most short of it; scales are one for each block."""
    leading, wide = packed.shape[:-1], packed.shape[-1] * 8 // made.bits
    block = made.block[1] if made.scale != "float32" else 1
    fits = isinstance(shape, tuple) and len(shape) > 0
    if not packed.size:
        if not fits or prod(shape):
            yield Finding("packed", f"holds no codes, and the shape is {shape}")
        return
    if wide % (block or 1):
        yield Finding("packed", f"{wide:,} values a row are no whole blocks of {block}")
    elif not fits or shape[:-1] != leading or not wide - block < shape[-1] <= wide:
        yield Finding("packed", f"holds codes of {(*leading, wide)}, and the shape is {shape}")
    else:
        down, across = made.blocks(packed.size // packed.shape[-1], wide)
        if scales.shape[-1] != across or scales.size != down * across:
            wanted = f"{down:,} x {across:,} blocks"
            yield Finding("scales", f"expected one for each of {wanted}, found {scales.shape}")
