"""NVFP4, MXFP4, MXFP8 and FP8 to the bit: encode, decode, error. Stands alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from racktwin.numerics.quantization import dequantize, quantize
    from racktwin.numerics.quantized import Quantized
    from racktwin.numerics.tiles import swizzle, unswizzle

__all__ = ["Quantized", "dequantize", "quantize", "swizzle", "unswizzle"]
_HOMES = {
    "Quantized": "quantized",
    "dequantize": "quantization",
    "quantize": "quantization",
    "swizzle": "tiles",
    "unswizzle": "tiles",
}


def __getattr__(name: str) -> Any:  # loaded when first used: who asks for sizes needs no compiler
    if name not in _HOMES:
        raise AttributeError(f"module 'racktwin.numerics' has no attribute {name!r}")
    return getattr(import_module(f"racktwin.numerics.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
