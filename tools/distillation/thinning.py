"""Which measured sizes stay as grid points."""

from __future__ import annotations

import polars as pl


def every(sizes: pl.Series, step: int) -> list[float]:
    """Every `step`-th size counted from the largest, and the smallest."""
    ordered = [float(size) for size in sizes.unique().sort()]
    return sorted({ordered[0], *ordered[::-step]})


def common(rows: pl.DataFrame, axis: str, other: str) -> list[float]:
    """Sizes of `axis` measured with most sizes of `other`: a lone one would mean mostly filler."""
    counts = rows.group_by(axis).agg(pl.col(other).n_unique().alias("count"))
    most = counts.filter(pl.col("count") >= 0.6 * pl.col("count").max())
    return sorted(float(size) for size in most[axis])
