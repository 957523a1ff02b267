"""Elementwise kernels: efficiency over the bytes moved, from the FP8 quantise kernels.

`stream`: quantising with a known scale; `scale`: the largest value of a tensor, for its scale.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from distillation.draft import Draft, draft
from distillation.source import Source
from racktwin.hardware import Chip
from racktwin.kernels.roofline import seconds, work

# SGLang's is a Triton kernel at 7 % of the bandwidth that its own engine does not launch.
_FRAMEWORKS = ("trtllm", "vllm")
# Raw table of each operator, and bytes an element: bf16 in, and fp8 out where something is written.
_TABLES = {"stream": ("scale_matrix", 3), "scale": ("computescale", 2)}


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for operator, (raw, moved) in _TABLES.items():
        for framework in _FRAMEWORKS:
            table = source.read(framework, raw)
            if table is not None:
                yield _draft(f"{operator}.{framework}", table, moved, chip)


def _draft(name: str, table: pl.DataFrame, moved: int, chip: Chip) -> Draft:
    rows = table.select("seconds", bytes=moved * pl.col("m") * pl.col("k"))
    least = seconds(work(0.0, rows["bytes"].to_numpy(), "bf16"), chip)
    points = rows.with_columns(roofline=pl.Series(least))
    whole = [float(moved * 2**power) for power in range(5, 32)]
    sizes = [size for size in whole if size in set(rows["bytes"])]
    return draft(name, points, [], {"bytes": sizes}, name)
