"""The all-reduce of serving engines, as CUDA graphs run it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from collectives import pieces, records
from collectives.records import SYSTEMS, Record

NOTE = (
    "custom all-reduce, bf16, CUDA graphs where told apart, with the engine's own switch to NCCL "
    "for large buffers; alpha + size / bandwidth in each piece; s, bytes and B/s"
)
FRAMEWORKS = ("trtllm", "sglang", "vllm")
BYTES = 2.0  # of an element, bf16: the tables count elements


def fit_engines(folder: Path) -> Record:
    curves: Record = {system: {} for system in SYSTEMS}
    for system in SYSTEMS:
        for framework in FRAMEWORKS:
            rows = read(folder, system, framework)
            fits: Record = {}
            for (ranks,), group in rows.group_by(["ranks"], maintain_order=True):
                size, truth = group["size"].to_numpy(), group["seconds"].to_numpy()
                fits[str(ranks)] = pieces.fit(size, truth)
            curves[system][framework] = fits
    return {**records.origin("All-reduce of serving engines", NOTE), "curves": curves}


def read(folder: Path, system: str, framework: str) -> pl.DataFrame:
    """ranks, size (bytes), seconds; the fastest kernel an engine would take at each size."""
    path = folder / "kernels" / system / f"comm.{framework}.custom_allreduce_perf.parquet"
    rows = pl.read_parquet(path).filter(~pl.col("kernel_source").str.contains("eager"))
    return (
        rows.select(
            pl.col("num_gpus").alias("ranks"),
            (pl.col("message_size") * BYTES).alias("size"),
            (pl.col("latency") * 1e-3).alias("seconds"),
        )
        .group_by("ranks", "size")
        .agg(pl.col("seconds").min())
        .sort("ranks", "size")
    )
