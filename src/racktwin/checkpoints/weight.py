"""A weight as a checkpoint stores it, and its values: plain, block-scaled FP8, NVFP4.

A module, as 'layers.0.mlp.down_proj', owns tensors: its name, '.weight', '.weight_scale'.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.finding import BadInput, Finding
from racktwin.numerics.quantized import Quantized

PLAIN = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16"}
BLOCK = 128  # of fp8_block where the config names none: DeepSeek-V3 technical report, section 3.3
FP8 = ("F8_E4M3", "F8_E5M2")
NVFP4_BLOCK = 16
Floats = npt.NDArray[np.float32]


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """One matrix of a module.

    format: fp32, bf16, fp16, fp8_block, nvfp4, or a name of what is not read here. shape: of its
    values. tensors: all it is made of, by role (weight, scale, tensor_scale).
    """

    module: str
    format: str
    shape: tuple[int, ...]
    tensors: dict[str, str]
    block: tuple[int, int] = (1, 1)
    transposed: bool = False
    inverse: bool = False  # compressed-tensors keeps one over the tensor scale

    @property
    def readable(self) -> bool:
        """Whether `values` gives its values."""
        return self.format in {*PLAIN.values(), "fp8_block", "nvfp4"}


def values(found: Checkpoint, weight: Weight, begin: int, end: int) -> npt.NDArray[Any]:
    """Rows `begin` to `end` of a weight: float32, or the type it is stored in where that is plain.

    begin: of fp8_block a multiple of its block.
    """
    end = min(end, weight.shape[0])
    if weight.format == "nvfp4":
        return nvfp4_rows(found, weight, begin, end).dequantize()
    rows = found.rows(weight.tensors["weight"], begin, end)
    if weight.format != "fp8_block":
        return rows
    tall, wide = weight.block
    scales = found.rows(weight.tensors["scale"], begin // tall, -(-end // tall))
    plain = np.asarray(scales, np.float32)
    if not np.isfinite(plain).all():
        text = "holds NaN or infinite scales"
        raise BadInput([Finding(weight.tensors["scale"], text)], str(found.path))
    whole = np.repeat(np.repeat(plain, tall, 0), wide, 1)[: end - begin, : weight.shape[1]]
    return np.asarray(rows.astype(np.float32) * whole, np.float32)


def nvfp4_rows(found: Checkpoint, weight: Weight, begin: int, end: int) -> Quantized:
    """Rows of an NVFP4 weight. The one scale of a fused tensor (q, k and v) holds for all of it."""
    if weight.transposed:
        packed = np.ascontiguousarray(found.rows(weight.tensors["weight"]).T[begin:end])
    else:
        packed = found.rows(weight.tensors["weight"], begin, end)
    return Quantized(
        format="nvfp4",
        shape=(end - begin, weight.shape[1]),
        packed=packed.view(np.uint8),
        scales=found.rows(weight.tensors["scale"], begin, end),
        tensor_scale=tensor_scale(found, weight),
    )


def tensor_scale(found: Checkpoint, weight: Weight) -> np.float32:
    """The scale over a whole NVFP4 weight, any unit; BadInput unless it is one positive number."""
    name = weight.tensors["tensor_scale"]
    stored = np.asarray(found.rows(name), np.float32).reshape(-1)
    if len(stored) != 1 or not 0 < stored[0] < np.inf:
        text = f"expected one positive number, found {len(stored)}: {stored[:3].tolist()}"
        raise BadInput([Finding(name, text)], str(found.path))
    with np.errstate(over="ignore"):
        scale = np.float32(1) / stored[0] if weight.inverse else np.float32(stored[0])
    if np.isinf(scale):
        text = f"one over {stored[0]:.3g} is beyond float32"
        raise BadInput([Finding(name, text)], str(found.path))
    return np.float32(scale)
