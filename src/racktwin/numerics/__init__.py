"""NVFP4, MXFP4, MXFP8 and FP8 to the bit: encode, decode, error. Stands alone."""

from racktwin.numerics.quantize import dequantize, quantize
from racktwin.numerics.quantized import Quantized
from racktwin.numerics.swizzle import swizzle, unswizzle

__all__ = ["Quantized", "dequantize", "quantize", "swizzle", "unswizzle"]
