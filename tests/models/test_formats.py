"""Bytes a value takes in each format, scales included."""

from __future__ import annotations

import pytest

from racktwin.finding import BadInput
from racktwin.models.formats import FORMATS, bytes_per_value


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
