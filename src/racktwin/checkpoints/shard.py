"""One safetensors file: tensors and rows of them as arrays, read when they are asked for.

Read, not mapped: pages of a mapped file count as memory of the process, and one that is cut off
while it is mapped ends the process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import ml_dtypes
import numpy as np
import numpy.typing as npt

from racktwin.checkpoints.header import Entry, Header, read_header
from racktwin.finding import BadInput, Finding

DTYPES: dict[str, Any] = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
NAMES = {np.dtype(dtype).name: name for name, dtype in DTYPES.items()}
Array = npt.NDArray[Any]


class Shard:
    """An open file. Its arrays are copies; it is closed with `close` or a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Header = read_header(path)
        self.file = os.open(path, os.O_RDONLY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; once is enough, twice does no harm."""
        if self.file >= 0:
            os.close(self.file)
        self.file = -1

    def entry(self, name: str) -> Entry:
        """Of a tensor that is there."""
        return self.header.entries[name]

    def bytes(self, name: str, begin: int, end: int) -> npt.NDArray[np.uint8]:
        """The bytes of a tensor from `begin` to `end`, counted from its own first."""
        found = np.empty(end - begin, np.uint8)
        place = self.header.start + self.entry(name).begin + begin
        left = memoryview(found.data)
        while len(left):
            count = os.preadv(self.file, [left], place)
            if not count:
                text = f"the file ended at byte {place:,} while it was read"
                raise BadInput([Finding(name, text)], str(self.path))
            place, left = place + count, left[count:]
        return found

    def rows(self, name: str, begin: int = 0, end: int | None = None) -> Array:
        """Rows `begin` to `end` along the first axis (any unit), all of them by default."""
        entry = self.entry(name)
        if entry.dtype not in DTYPES:
            text = f"{entry.dtype} cannot be read; one of {', '.join(DTYPES)}"
            raise BadInput([Finding(name, text)], str(self.path))
        dtype = np.dtype(DTYPES[entry.dtype])
        if not entry.shape:
            single: Array = self.bytes(name, 0, entry.bytes).view(dtype).reshape(())
            return single
        stop = entry.shape[0] if end is None else min(end, entry.shape[0])
        each = entry.bytes // entry.shape[0] if entry.shape[0] else 0
        raw = self.bytes(name, begin * each, max(begin, stop) * each)
        found: Array = raw.view(dtype).reshape(max(stop - begin, 0), *entry.shape[1:])
        return found
