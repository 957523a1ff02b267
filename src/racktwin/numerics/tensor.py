"""Tensors as they come: numpy arrays, ml_dtypes, torch, without a copy where there is a way."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.numerics.loops import widen

READ = ("float32", "float16", "bfloat16", "float64")


def as_values(given: Any) -> npt.NDArray[Any]:
    """`given` (any unit) as a numpy array of a float type that is read; torch is not copied."""
    if type(given).__module__.partition(".")[0] == "torch":
        given = _from_torch(given)
    if np.ma.isMaskedArray(given):
        found = Finding("values", "a masked array has gaps, and no format stores them; fill them")
        raise BadInput([found], "quantize")
    try:
        array = np.asarray(given)
    except (TypeError, ValueError) as fault:  # rows of different lengths, objects that refuse
        reason = str(fault).partition(". ")[0]
        found = Finding("values", f"cannot be taken as an array: {reason}")
        raise BadInput([found], "quantize") from None
    if array.dtype.name not in READ:
        message = f"expected {', '.join(READ)}, found {array.dtype}"
        raise BadInput([Finding("values", message)], "quantize")
    return array


def _from_torch(tensor: Any) -> npt.NDArray[Any]:
    import torch

    plain = tensor.detach()
    if plain.dtype == torch.bfloat16:
        return np.asarray(plain.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.asarray(plain.numpy())


def as_float32(matrix: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """A matrix as float32 (any unit), rows end to end; beyond its range infinite."""
    if matrix.dtype == ml_dtypes.bfloat16:
        wide = np.empty(matrix.shape, np.float32)
        widen(matrix.view(np.int16), wide.view(np.int32))
        return wide
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(matrix, np.float32)


def as_torch(array: npt.NDArray[Any]) -> Any:
    """The same memory as a torch tensor, any unit; torch has no type for E2M1, whose bytes stay."""
    import torch

    name = array.dtype.name
    if name in ("float32", "uint8"):
        return torch.from_numpy(array)
    other = {"float8_e8m0fnu": torch.float8_e8m0fnu, "float8_e4m3fn": torch.float8_e4m3fn,
             "float8_e5m2": torch.float8_e5m2}  # fmt: skip
    return torch.from_numpy(array.view(np.uint8)).view(other[name])


def as_matrix(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
    """All axes but the last in one (any unit), and the shape it had; a single number is refused."""
    shape = array.shape
    if array.ndim == 0:
        raise BadInput(
            [Finding("values", "a single number has no block to share a scale")], "quantize"
        )
    return array.reshape(-1, shape[-1]) if array.size else array.reshape(0, shape[-1]), shape
