"""Fit what chips draw to measured watts: `python tools/fit_power.py --data ../shared`.

Writes src/racktwin/kernels/tables/watts_b200.npz, catalog/power/a100.yaml, and the page
docs/reference/power-fit.md with the errors on shapes, set-ups and machines left out.
"""

from __future__ import annotations

import argparse
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from distillation.source import Source
from power_fit import a100, aks, maps, report
from power_fit.rows import rows
from racktwin import hardware
from racktwin.kernels.watts import SCALE, MapIndex

ROOT = Path(__file__).resolve().parents[1]
CHIP, SYSTEM = "b200", "b200_sxm"
DATE = (1980, 1, 1, 0, 0, 0)
SOURCE = "aisimulate: the power column of its TensorRT-LLM tables of B200"


def fitted(table: pl.DataFrame) -> tuple[MapIndex, np.ndarray, np.ndarray, np.ndarray]:
    """Index, log watts and measured nodes of every family; all errors on shapes left out."""
    chip = hardware.chip(CHIP)
    names = table["family"].unique(maintain_order=True).to_list()
    values, measured, counts, medians, every = [], [], [], [], []
    for name in names:
        part = table.filter(pl.col("family") == name)
        around = maps.corners(maps.coordinates(part, chip))
        nodes, rests = maps.fit(around, part["watts"].to_numpy())
        errors = maps.left_out(part, around)
        print(f"{name:20} {part.height:7,} rows, median error {np.nanmedian(errors):.1%}")
        values.append(nodes.reshape(maps.SHAPE))
        measured.append(rests.reshape(maps.SHAPE) >= 1)
        counts.append(part.height)
        medians.append(round(float(np.nanmedian(errors)), 4))
        every.append(errors)
    index = MapIndex(
        idle=float(chip.idle_power),
        peak={dtype: float(value) for dtype, value in chip.peak.items()},
        bandwidth=float(chip.memory_bandwidth),
        families=names,
        axes=[[float(2.0**each) for each in axis] for axis in maps.AXES],
        rows=counts,
        errors=medians,
        source=SOURCE,
    )
    return index, np.stack(values), np.stack(measured), np.concatenate(every)


def write(path: Path, index: MapIndex, values: np.ndarray, measured: np.ndarray) -> None:
    """The same bytes for the same fit."""
    members: dict[str, Any] = {
        "index": np.frombuffer(msgspec.json.encode(index), np.uint8),
        "values": np.round(values * SCALE).astype(np.int16),
        "measured": measured,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in members.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data.getvalue(), compresslevel=9)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared")
    data = parser.parse_args(words).data
    table = rows(Source(data / "kernels", SYSTEM), hardware.chip(CHIP))
    index, values, measured, errors = fitted(table)
    write(ROOT / "src/racktwin/kernels/tables" / f"watts_{CHIP}.npz", index, values, measured)
    ampere = a100.fitted(data / "truth/power_a100_h100.csv")
    (ROOT / "src/racktwin/catalog/power/a100.yaml").write_text(a100.entry(ampere))
    page = report.page(index, errors, ampere, aks.compared())
    (ROOT / "docs/reference/power-fit.md").write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
