"""GEMM tables: one grid over m, n, k for each weight format and framework."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from racktwin.hardware import Chip
from racktwin.kernels.gemm import gemm_work
from racktwin.kernels.roofline import seconds

_DTYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
# Powers of two and the steps between them; the measured m + 1 are left to score tile edges.
_ROWS = [1.0, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 768, 1024, 1536, 2048, 3072, 4096]
_ROWS += [8192, 16384, 32768]


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        table = source.read(framework, "gemm")
        if table is None:
            continue
        for raw, dtype in _DTYPES.items():
            rows = table.filter(pl.col("gemm_dtype") == raw)
            if rows.height:
                yield _draft(f"gemm.{dtype}.{framework}", rows, dtype, chip)


def _draft(name: str, rows: pl.DataFrame, dtype: str, chip: Chip) -> Draft:
    m, n, k = (rows[axis].to_numpy() for axis in "mnk")
    least = seconds(gemm_work(m, n, k, dtype, chip.peak), chip)
    points = rows.select("m", "n", "k", "seconds", roofline=pl.Series(least))
    axes: dict[str, list[float]] = {
        "m": _ROWS,
        "n": _common(rows, "n", "k"),
        "k": _common(rows, "k", "n"),
    }
    return draft(name, points, [], axes, name)


def _common(rows: pl.DataFrame, axis: str, other: str) -> list[float]:
    """Sizes of an axis measured with most sizes of the other; a lone one would be mostly filler."""
    counts = rows.group_by(axis).agg(pl.col(other).n_unique().alias("count"))
    most = counts.filter(pl.col("count") >= 0.6 * pl.col("count").max())
    return [float(size) for size in most[axis]]
