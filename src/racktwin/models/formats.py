"""Number formats of weights and caches: bytes a value takes, its scales included."""

from __future__ import annotations

import msgspec

from racktwin.finding import BadInput, unknown
from racktwin.numerics.recipe import RECIPES


class Format(msgspec.Struct, frozen=True):
    """How values are stored.

    bits: of one value. group: values that share a scale (0: per tensor or channel, not counted).
    scale: bytes of one scale. block: values along the input side that must not be cut apart.
    """

    bits: float
    group: int = 0
    scale: float = 0.0
    block: int = 1

    @property
    def bytes(self) -> float:
        """Bytes of one value with its share of the scale."""
        return self.bits / 8 + (self.scale / self.group if self.group else 0.0)


def _encoded(name: str) -> Format:
    """A format that `numerics` encodes, as it stores it."""
    made = RECIPES[name]
    return Format(made.bits, made.block_values, made.scale_bytes, max(made.block[1], 1))


# Narrow floats: racktwin.numerics. compressed-tensors (int4: one bf16 scale a group), ggml (q8_0:
# one fp16 scale for 32), FlashMLA (fp8_ds_mla, see kv.py).
FORMATS: dict[str, Format] = {
    "fp32": Format(32),
    "bf16": Format(16),
    "fp16": Format(16),
    **{name: _encoded(name) for name in ("fp8", "fp8_block", "mxfp8", "nvfp4", "mxfp4")},
    "int8": Format(8),
    "int4": Format(4, 128, 2, block=128),
    "int4_g64": Format(4, 64, 2, block=64),
    "int4_g32": Format(4, 32, 2, block=32),
    "nf4": Format(4, 64, 1, block=64),
    "q8_0": Format(8, 32, 2, block=32),
}


def bytes_per_value(dtype: str) -> float:
    """Bytes of one stored value in `dtype`, scales included ('nvfp4' -> 0.5625)."""
    return format_of(dtype).bytes


def format_of(dtype: str) -> Format:
    """The format called `dtype`; raises BadInput with the nearest name."""
    try:
        return FORMATS[dtype]
    except (KeyError, TypeError):
        raise BadInput([unknown("dtype", str(dtype), FORMATS)]) from None
