"""Bytes a value takes in each format, scales included."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.models.formats import FORMATS, bytes_per_value
from racktwin.numerics import quantize


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("fp32", 4),
        ("bf16", 2),
        ("fp8", 1),
        ("fp8_block", 1 + 4 / 16384),
        ("mxfp8", 1 + 1 / 32),
        ("nvfp4", 0.5 + 1 / 16),
        ("mxfp4", 0.5 + 1 / 32),
        ("int4", 0.5 + 2 / 128),
        ("int4_g32", 0.5 + 2 / 32),
        ("q8_0", 34 / 32),
    ],
)
def test_bytes(dtype: str, size: float) -> None:
    assert bytes_per_value(dtype) == size


def test_every_format_is_smaller_than_float32() -> None:
    assert all(0.5 <= each.bytes <= 4 for each in FORMATS.values())


@pytest.mark.parametrize("dtype", ["nvfp", "", "BF16"])
def test_unknown_format_suggests_one(dtype: str) -> None:
    with pytest.raises(BadInput, match="not known"):
        bytes_per_value(dtype)


@pytest.mark.parametrize("dtype", ["fp8", "fp8_block", "mxfp8", "nvfp4", "mxfp4"])
def test_sizes_are_those_of_encoded_weights(dtype: str) -> None:
    """Bytes of a real weight, but for the one scale of a tensor."""
    found = quantize(np.ones((256, 512), np.float32), dtype)
    once = 4 if dtype in ("nvfp4", "fp8") else 0
    assert bytes_per_value(dtype) == (found.nbytes - once) / (256 * 512)


def test_sizes_are_known_without_the_compiler() -> None:
    code = "import sys, racktwin.models.formats; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
