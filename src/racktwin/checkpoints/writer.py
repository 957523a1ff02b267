"""A safetensors file written piece by piece, under its name only once it is whole."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from racktwin.checkpoints.header import BITS, Entry, Header

PART = ".part"  # what a file is called until it is whole
ALIGNED = 8  # bytes that the header is filled up to, as the safetensors library does


class Writer:
    """Fills the places of a file; `entries` say what comes, in that order, end to end.

    Left without an error and with every byte put, the file takes its name, else it is removed.
    """

    def __init__(
        self,
        path: Path,
        tensors: Mapping[str, tuple[str, tuple[int, ...]]],
        metadata: dict[str, str],
    ) -> None:
        self.path, self.part = path, path.with_name(path.name + PART)
        self.header = plan_header(tensors, metadata)
        self.missing = {name: entry.bytes for name, entry in self.header.entries.items()}
        self.file = -1

    def __enter__(self) -> Self:
        self.file = os.open(self.part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        try:
            _reserve(self.file, file_bytes(self.header))
            self._write(header_bytes(self.header), 0)
        except BaseException:
            self._drop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._drop()
            return
        if left := [name for name, count in self.missing.items() if count]:
            self._drop()
            raise AssertionError(f"{left[0]} was not written to its end")
        try:
            os.fsync(self.file)
            os.close(self.file)
            os.replace(self.part, self.path)
        except BaseException:
            self.part.unlink(missing_ok=True)
            raise

    def _drop(self) -> None:
        os.close(self.file)
        self.part.unlink(missing_ok=True)

    def put(self, name: str, values: npt.NDArray[Any], begin: int = 0) -> None:
        """Write `values` into the place of a tensor, `begin` bytes behind its first."""
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        entry = self.header.entries[name]
        assert begin + raw.nbytes <= entry.bytes, f"{name}: more than its place holds"
        self._write(raw, self.header.start + entry.begin + begin)
        self.missing[name] -= raw.nbytes

    def _write(self, raw: Any, place: int) -> None:
        left = memoryview(raw)
        while len(left):
            count = os.pwrite(self.file, left, place)
            place, left = place + count, left[count:]


def plan_header(
    tensors: Mapping[str, tuple[str, tuple[int, ...]]], metadata: dict[str, str]
) -> Header:
    """The header of a file that holds `tensors`: dtype and shape by name."""
    entries, place = {}, 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for each in shape:
            count *= each
        entries[name] = Entry(dtype, shape, place, place + count * BITS[dtype] // 8)
        place = entries[name].end
    found = Header(entries, metadata, 0)
    return Header(entries, metadata, len(header_bytes(found)))


def header_bytes(header: Header) -> bytes:
    """The count and the JSON in front of the tensors."""
    whole: dict[str, Any] = {"__metadata__": header.metadata} if header.metadata else {}
    for name, entry in header.entries.items():
        places = [entry.begin, entry.end]
        whole[name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": places}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNED)
    return len(text).to_bytes(8, "little") + text


def file_bytes(header: Header) -> int:
    """Bytes of the whole file."""
    return header.start + max((entry.end for entry in header.entries.values()), default=0)


def _reserve(file: int, size: int) -> None:
    """Take the disk's room at once, so that a full disk shows before the work."""
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as fault:
        if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        os.ftruncate(file, size)  # a file system that reserves nothing
