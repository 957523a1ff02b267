"""GEMM as it is priced: the fastest kernel of all frameworks, at rows between the stored ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Score
from distillation.gemm import DTYPES, ROWS
from distillation.source import FRAMEWORKS, Source
from racktwin.hardware import Chip
from racktwin.kernels.gemm import gemm_efficiency, gemm_work
from racktwin.kernels.roofline import seconds
from racktwin.kernels.tables import Tables


def scores(source: Source, chip: Chip, tables: Tables) -> Iterator[Score]:
    """Errors against the fastest measured time of each shape, a score for each weight format."""
    found = [source.read(framework, "gemm") for framework in FRAMEWORKS]
    rows = pl.concat(
        [each.select("gemm_dtype", "m", "n", "k", "seconds") for each in found if each is not None]
    )
    best = rows.group_by(["gemm_dtype", "m", "n", "k"]).agg(pl.col("seconds").min())
    for raw, dtype in DTYPES.items():
        of_type = best.filter(pl.col("gemm_dtype") == raw)
        out = of_type.filter(~pl.col("m").is_in(ROWS))
        errors = [np.zeros(0)]
        for (n, k), group in out.group_by(["n", "k"]):
            found_n, found_k = float(str(n)), float(str(k))
            rule = gemm_efficiency(tables, found_n, found_k, dtype, chip.peak, list(FRAMEWORKS))
            m, true = group["m"].to_numpy(), group["seconds"].to_numpy()
            task = gemm_work(m, found_n, found_k, dtype, chip.peak)
            assert rule.grid is not None
            predicted = seconds(task, chip) * np.exp(-rule.grid.at(m)[0])
            errors.append(np.abs(predicted / true - 1))
        if out.height:
            kept = of_type.height - out.height
            yield Score(f"gemm.{dtype}: fastest", of_type.height, kept, np.concatenate(errors))
