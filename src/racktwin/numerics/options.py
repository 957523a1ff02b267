"""What is asked of a format beside the values: every fault of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from racktwin.finding import BadInput, Finding, unknown
from racktwin.numerics.recipe import LARGEST, RECIPES, Recipe

CALIBRATIONS = ("max", "mse")
# Every E4M3 scale times this is exact in float32: the smallest are multiples of 2^-9, and 2^-149 is
# the smallest float.
LEAST_TENSOR_SCALE = np.float32(2.0**-140)


def options(
    format: Any, calibration: Any, tensor_scale: Any, round_up: Any
) -> tuple[Recipe, np.float32 | None]:
    """The recipe of `format`, and the tensor scale that was given, a ratio; BadInput otherwise."""
    found = []
    made = RECIPES.get(format) if isinstance(format, str) else None
    if made is None:
        found.append(unknown("format", str(format), RECIPES))
    if not isinstance(calibration, str) or calibration not in CALIBRATIONS:
        found.append(unknown("calibration", str(calibration), CALIBRATIONS))
    whole: np.float32 | Finding | None = None
    if tensor_scale is not None:
        whole = _tensor_scale(tensor_scale)
    if isinstance(whole, Finding):
        found.append(whole)
    if made is not None:
        found += _ignored(made, tensor_scale, round_up)
    if found or made is None:
        raise BadInput(found, "quantize")
    return made, whole if isinstance(whole, np.float32) else None


def _tensor_scale(given: Any) -> np.float32 | Finding:
    number = isinstance(given, int | float | np.floating | np.integer)
    if not number or isinstance(given, bool):
        return Finding("tensor_scale", f"expected a number, found {type(given).__name__}")
    least = float(LEAST_TENSOR_SCALE)
    most = float(np.finfo(np.float32).max) / (LARGEST["e2m1"] * LARGEST["e4m3"])
    try:
        value = float(given)
    except OverflowError:  # an integer of hundreds of digits
        value = float("inf")
    if not least <= value <= most:
        bounds = f"{least:.3g} to {most:.5g}"
        message = f"expected a number of {bounds}, so that float32 holds its products"
        return Finding("tensor_scale", f"{message}; found {value:.6g}")
    return np.float32(value)


def _ignored(made: Recipe, tensor_scale: Any, round_up: Any) -> Iterator[Finding]:
    """Options that the format has no use for."""
    if tensor_scale is not None and not made.tensor_scale:
        yield Finding("tensor_scale", f"{made.name} has no scale over the whole tensor")
    if round_up and made.scale != "e8m0":
        text = f"{made.name} has no power-of-two scales to round up; mxfp4 and mxfp8 have"
        yield Finding("round_up", text)
