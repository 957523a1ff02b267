"""The command: distill every chip, write the tables and the accuracy table of the docs."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from distillation import archive, attention, experts, gemm, latent
from distillation.source import Source
from racktwin import hardware

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("gb300", "gb200", "b300", "b200", "h200", "h100")
TABLES = ROOT / "src/racktwin/kernels/tables"
CHIPS = {each.tables: each for each in map(hardware.chip, NAMES)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    arguments = parser.parse_args()
    TABLES.mkdir(parents=True, exist_ok=True)
    for name in arguments.chip or CHIPS:
        start = time.perf_counter()
        source, chip = Source(arguments.folder, name), CHIPS[name]
        made = [
            each
            for module in (gemm, attention, latent, experts)
            for each in module.drafts(source, chip)
        ]
        size = archive.write(TABLES / f"{name}.npz", made, chip)
        for each in made:
            errors = each.score.errors
            med, p90 = np.percentile(errors, [50, 90]) if len(errors) else (np.nan, np.nan)
            bound = (each.table.grids.values >= -1e-3).mean()
            print(
                f"{name:9} {each.name:34} rows {each.score.rows:7} kept {each.score.kept:7} out {len(errors):7} med {med:6.1%} p90 {p90:6.1%} measured {each.table.grids.measured.mean():.2f} at-roof {bound:.3f}"
            )
        print(name, size, "bytes", f"{time.perf_counter() - start:.1f} s")
