"""Elementwise kernels: efficiency over the bytes moved, from the static FP8 quantise kernels."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from distillation.draft import Draft, draft
from distillation.source import Source
from racktwin.hardware import Chip
from racktwin.kernels.roofline import seconds, work

# SGLang's is a Triton kernel at 7 % of the bandwidth that its own engine does not launch.
_FRAMEWORKS = ("trtllm", "vllm")
_MOVED = 3  # bytes an element: bf16 in, fp8 out


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in _FRAMEWORKS:
        table = source.read(framework, "scale_matrix")
        if table is None:
            continue
        rows = table.select("seconds", bytes=_MOVED * pl.col("m") * pl.col("k"))
        least = seconds(work(0.0, rows["bytes"].to_numpy(), "bf16"), chip)
        points = rows.with_columns(roofline=pl.Series(least))
        whole = [float(_MOVED * 2**power) for power in range(5, 32)]
        sizes = [size for size in whole if size in set(rows["bytes"])]
        yield draft(f"stream.{framework}", points, [], {"bytes": sizes}, f"stream.{framework}")
