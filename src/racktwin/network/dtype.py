"""Types of the values a collective carries, as NCCL and nccl-tests call them."""

from __future__ import annotations

BYTES = {
    "int8": 1, "uint8": 1, "fp8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
NCCL_TESTS = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "f8e4m3": "fp8",
    "f8e5m2": "fp8",
}
KNOWN = (*BYTES, *NCCL_TESTS)


def named(word: str) -> str | None:
    """NCCL's name for a word of either kind; None for one nobody knows."""
    found = NCCL_TESTS.get(word, word)
    return found if found in BYTES else None
