"""Writes the .npz of a chip: the same bytes for the same tables."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from distillation.draft import Draft
from racktwin.hardware import Chip
from racktwin.kernels.tables import SCALE, Index

_DATE = (1980, 1, 1, 0, 0, 0)


def write(path: Path, drafts: list[Draft], chip: Chip) -> int:
    """Write the tables of one chip; returns the size of the file, bytes."""
    peak = {dtype: float(value) for dtype, value in chip.peak.items()}
    index = Index(
        peak, float(chip.memory_bandwidth), {each.name: each.table.facts for each in drafts}
    )
    members: dict[str, NDArray[Any]] = {
        "index": np.frombuffer(msgspec.json.encode(index), np.uint8)
    }
    for each in drafts:
        grids = each.table.grids
        members[f"{each.name}.values"] = np.round(-grids.values * SCALE).astype(np.int16)
        members[f"{each.name}.measured"] = np.packbits(grids.measured.ravel())
        members[f"{each.name}.keys"] = each.table.keys
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in members.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data.getvalue(), compresslevel=9)
    return path.stat().st_size
