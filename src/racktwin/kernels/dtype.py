"""Which dtype a chip multiplies in, for weights stored in a given format."""

from __future__ import annotations

from collections.abc import Container

from racktwin.models.formats import bytes_per_value

_NATIVE = {
    "fp8": "fp8",
    "fp8_block": "fp8",
    "mxfp8": "fp8",
    "nvfp4": "nvfp4",
    "mxfp4": "nvfp4",
}
_ACTIVATION = {"bf16": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}


def compute(dtype: str, peaks: Container[str]) -> str:
    """The dtype of the matrix units: bf16 for weights that the chip must widen first.

    peaks: dtypes the chip has a peak for. Formats without a native unit (int4, int8, nf4, and
    FP4 on Hopper) are stored narrow and multiplied in bf16 (weight-only quantisation).
    """
    native = _NATIVE.get(dtype, "bf16")
    return native if native in peaks else "bf16"


def activation_bytes(dtype: str, peaks: Container[str]) -> float:
    """Bytes of an activation as it enters the matrix units, scales included."""
    return bytes_per_value(_ACTIVATION[compute(dtype, peaks)])


def cache_dtype(kv_dtype: str) -> str:
    """The family of a KV-cache format the tables tell apart: 'fp8' or 'bf16'."""
    return "fp8" if kv_dtype.startswith(("fp8", "mxfp8", "nvfp4")) else "bf16"
