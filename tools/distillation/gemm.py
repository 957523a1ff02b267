"""GEMM tables: one grid over m, n, k for each weight format and framework."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import common
from racktwin.hardware import Chip
from racktwin.kernels.gemm import gemm_work
from racktwin.kernels.roofline import seconds

DTYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
# Powers of two and the next size, where another tile begins: rows in between behave like that one.
ROWS = [1, 2, 4, 8, 16, 17, 32, 33, 64, 65, 96, 128, 129, 192, 193, 256, 257, 512, 513, 768, 1024]
ROWS += [1025, 1536, 2048, 2049, 3072, 4096, 4097, 8192, 16384, 32768]


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        table = source.read(framework, "gemm")
        if table is None:
            continue
        for raw, dtype in DTYPES.items():
            rows = table.filter(pl.col("gemm_dtype") == raw)
            if rows.height:
                yield _draft(f"gemm.{dtype}.{framework}", rows, dtype, chip)


def _draft(name: str, rows: pl.DataFrame, dtype: str, chip: Chip) -> Draft:
    m, n, k = (rows[axis].to_numpy() for axis in "mnk")
    least = seconds(gemm_work(m, n, k, dtype, chip.peak), chip)
    points = rows.select("m", "n", "k", "seconds", roofline=pl.Series(least))
    axes: dict[str, list[float]] = {
        "m": [float(m) for m in ROWS],
        "n": common(rows, "n", "k"),
        "k": common(rows, "k", "n"),
    }
    return draft(name, points, [], axes, name)
