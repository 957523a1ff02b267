"""Finds and reads the raw tables, in a folder or straight from the wheel.

    SYSTEM/FAMILY.FRAMEWORK.OPERATOR_perf.parquet
    .../data/SYSTEM/FAMILY/FRAMEWORK/VERSION/OPERATOR_perf.parquet       (the public wheel)

The wheel holds several versions of a framework, the newer ones often in parts: the newest that is
at least half as large as the largest is taken.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from pathlib import Path, PurePosixPath

import polars as pl

FRAMEWORKS = ("trtllm", "sglang", "vllm")
_FLAT = re.compile(r"(?:.*/)?(\w+)/\w+\.(\w+)\.(\w+)_perf\.parquet")
_WHEEL = re.compile(r".*systems/data/(\w+)/\w+/(\w+)/([^/]+)/(\w+)_perf\.parquet")


class Source:
    """The raw tables of one GPU system; times are in ms as measured."""

    def __init__(self, place: Path, system: str) -> None:
        self.place, self.system = place, system
        versions: dict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
        for name, size in _files(place):
            if flat := _FLAT.fullmatch(name):
                of, framework, operator = flat.groups()
                version = ""
            elif wheel := _WHEEL.fullmatch(name):
                of, framework, version, operator = wheel.groups()
            else:
                continue
            if of == system:
                versions[framework, operator].append((size, version, name))
        self._files = {key: _newest_whole(each) for key, each in versions.items()}

    def read(self, framework: str, operator: str) -> pl.DataFrame | None:
        """Rows of one operator with a measured time in `seconds`, or None when there are none."""
        name = self._files.get((framework, operator))
        if name is None:
            return None
        table = pl.read_parquet(_content(self.place, name))
        table = table.filter(pl.col("latency").is_finite() & (pl.col("latency") > 0))
        return table.with_columns(seconds=pl.col("latency") * 1e-3)


def _files(place: Path) -> list[tuple[str, int]]:
    """Names under `place`, with slashes, and their sizes."""
    if place.is_file():
        with zipfile.ZipFile(place) as wheel:
            return [(each.filename, each.file_size) for each in wheel.infolist()]
    found = sorted(place.rglob("*_perf.parquet"))
    return [(str(PurePosixPath(each.relative_to(place))), each.stat().st_size) for each in found]


def _content(place: Path, name: str) -> io.BytesIO | Path:
    if not place.is_file():
        return place / name
    with zipfile.ZipFile(place) as wheel:
        return io.BytesIO(wheel.read(name))


def _newest_whole(versions: list[tuple[int, str, str]]) -> str:
    """The name of the newest of (size, version, name) that is not a part."""
    largest = max(size for size, _, _ in versions)
    whole = [(version, name) for size, version, name in versions if size >= largest / 2]
    return max(whole, key=lambda each: [int(part) for part in re.findall(r"\d+", each[0])])[1]
