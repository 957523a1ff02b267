"""Finds and reads the raw tables: a folder of parquet files, in one of the two layouts known.

SYSTEM/FAMILY.FRAMEWORK.OPERATOR_perf.parquet
.../SYSTEM/FRAMEWORK/VERSION/OPERATOR_perf.parquet       (the public wheel, unpacked)
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

FRAMEWORKS = ("trtllm", "sglang", "vllm")


class Source:
    """The raw tables of one GPU system; times are in ms as measured."""

    def __init__(self, folder: Path, system: str) -> None:
        self.system = system
        self._files = {}
        for path in sorted(folder.rglob("*_perf.parquet")):
            parts = [*path.relative_to(folder).parts[:-1], *path.name.split(".")]
            framework = next((each for each in FRAMEWORKS if each in parts), None)
            operator = path.name.split(".")[-2].removesuffix("_perf")
            if framework and system in parts:
                self._files[framework, operator] = path
        self.rows = 0

    def read(self, framework: str, operator: str) -> pl.DataFrame | None:
        """Rows of one operator with a measured time in `seconds`, or None when there are none."""
        path = self._files.get((framework, operator))
        if path is None:
            return None
        table = pl.read_parquet(path)
        self.rows += table.height
        table = table.filter(pl.col("latency").is_finite() & (pl.col("latency") > 0))
        return table.with_columns(seconds=pl.col("latency") * 1e-3)
