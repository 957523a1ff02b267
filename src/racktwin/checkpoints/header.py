"""The header of a safetensors file, read as if an enemy had written it.

A file is a count of 8 bytes, that many bytes of JSON (names, dtypes, shapes, places) and the
tensors end to end (huggingface/safetensors, README). Nothing is believed before it is checked:
sizes, places that overlap or leave gaps, doubled names, shapes that do not fill their place.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from racktwin.finding import BadInput, Finding

LENGTH = 8  # bytes of the count in front
LONGEST = 100_000_000  # bytes of a header, the bound of the safetensors library
MOST_SHOWN = 8  # faults of one file that are listed
BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32,
    "F16": 16, "BF16": 16, "I16": 16, "U16": 16, "I8": 8, "U8": 8, "BOOL": 8,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip


class Entry(msgspec.Struct, frozen=True):
    """One tensor: dtype and shape, and its place in bytes behind the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def bytes(self) -> int:
        """Bytes it takes."""
        return self.end - self.begin


class Header(msgspec.Struct, frozen=True):
    """What a file holds. start: of the tensors, in bytes from its beginning."""

    entries: dict[str, Entry]
    metadata: dict[str, str]
    start: int


def read_header(path: Path) -> Header:
    """The header of the file at `path`; BadInput with what is wrong, the worst eight."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            text, start = _text(file.read(LENGTH), size, path), 0
            start = LENGTH + text
            raw = file.read(text)
    except OSError as fault:
        raise _refused(path, [f"cannot be read: {fault.strerror}"]) from None
    if len(raw) < text:
        raise _refused(path, [f"ends within its header, after {LENGTH + len(raw):,} bytes"])
    faults: list[str] = []
    whole = _json(raw, path, faults)
    metadata = whole.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        faults.append("__metadata__: expected texts by name")
        metadata = {}
    entries = {}
    for name, given in whole.items():
        entry = _entry(name, given, faults)
        if entry is not None:
            entries[name] = entry
    if not faults:
        faults += _places(entries, size - start)
    if faults:
        raise _refused(path, faults)
    return Header(entries, metadata, start)


def _refused(path: Path, faults: list[str]) -> BadInput:
    shown = [Finding("header", fault) for fault in faults[:MOST_SHOWN]]
    if len(faults) > MOST_SHOWN:
        shown.append(Finding("header", f"and {len(faults) - MOST_SHOWN:,} more faults"))
    return BadInput(shown, str(path))


def _text(head: bytes, size: int, path: Path) -> int:
    """Bytes of JSON, from the first eight bytes of a file of `size` bytes."""
    if len(head) < LENGTH:
        raise _refused(path, [f"{size:,} bytes are no safetensors file"])
    count = int.from_bytes(head, "little")
    if count > LONGEST:
        raise _refused(path, [f"says it has {count:,} bytes; at most {LONGEST:,}"])
    if LENGTH + count > size:
        raise _refused(path, [f"says it has {count:,} bytes, and the file has {size:,}"])
    if count < 2:
        raise _refused(path, ["is empty"])
    return count


def _json(raw: bytes, path: Path, faults: list[str]) -> dict[str, Any]:
    def distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                faults.append(f"{_short(name)} occurs twice")
            found[name] = value
        return found

    def no_number(text: str) -> None:
        raise ValueError(f"{text} is no number")

    try:
        text = raw.decode()  # bytes would be taken in UTF-16 too, or with a mark in front
        whole = json.loads(text, object_pairs_hook=distinct, parse_constant=no_number)
    except (ValueError, RecursionError) as fault:  # also text that is no UTF-8
        raise _refused(path, [f"is no JSON: {_short(str(fault), 80)}"]) from None
    if not isinstance(whole, dict):
        raise _refused(path, ["is no JSON object"])
    return whole


def _short(name: str, most: int = 60) -> str:
    """A name as it may be shown: no control characters, not endless."""
    shown = name if name.isprintable() else ascii(name)
    return shown if len(shown) <= most else f"{shown[:most]}..."


def _entry(name: str, given: Any, faults: list[str]) -> Entry | None:
    """One tensor, or None and a fault."""
    shown = _short(name)
    if not name or not name.isprintable():
        faults.append(f"{shown!r} is no name of a tensor")
        return None
    if not isinstance(given, dict) or set(given) != {"dtype", "shape", "data_offsets"}:
        faults.append(f"{shown}: expected dtype, shape and data_offsets")
        return None
    dtype, shape, offsets = given["dtype"], given["shape"], given["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS:
        faults.append(f"{shown}: dtype {_short(str(dtype), 20)!r} is not known")
        return None
    if not _counts(shape):
        faults.append(f"{shown}: shape: expected whole numbers from 0")
        return None
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        faults.append(f"{shown}: data_offsets: expected where it begins and ends")
        return None
    bits = math.prod(shape) * BITS[dtype]
    if bits % 8 or bits // 8 != offsets[1] - offsets[0]:
        need = f"{bits // 8:,}" if bits < 1 << 80 else "more than any file's"
        size = " x ".join(map(str, shape))
        message = f"{_short(size, 40)} of {dtype} take {need} bytes, and its place has"
        faults.append(f"{shown}: {message} {offsets[1] - offsets[0]:,}")
        return None
    return Entry(dtype, tuple(shape), offsets[0], offsets[1])


def _counts(given: Any) -> bool:
    """Whether it is a list of whole numbers that a file can hold, of at most eight."""
    return (
        isinstance(given, list)
        and len(given) <= 8
        and all(type(each) is int and 0 <= each < 1 << 63 for each in given)
    )


def _places(entries: dict[str, Entry], size: int) -> list[str]:
    """Tensors must lie end to end in the `size` bytes behind the header."""
    faults, last, before = [], 0, ""
    for name, entry in sorted(entries.items(), key=lambda each: (each[1].begin, each[1].end)):
        if entry.begin < last:
            faults.append(f"{_short(name)} lies on {_short(before)}")
        elif entry.begin > last:
            faults.append(f"{entry.begin - last:,} bytes in front of {_short(name)} are nobody's")
        last, before = max(last, entry.end), name
    if last > size:
        faults.append(f"the tensors take {last:,} bytes, and {size:,} follow: the file is cut off")
    elif last < size and not faults:
        faults.append(f"{size - last:,} bytes behind the last tensor are nobody's")
    return faults
