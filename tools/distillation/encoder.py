"""Attention of image encoders: every patch attends to every other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import every
from racktwin.hardware import Chip
from racktwin.kernels.attention import encoder_work
from racktwin.kernels.roofline import seconds

_KEYS = ["head_dim", "heads"]


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        table = source.read(framework, "encoder_attention")
        if table is None:
            continue
        rows = table.select(
            "seconds", "head_dim", heads="num_heads", batch="batch_size", tokens="isl"
        )
        least = np.zeros(rows.height)
        for key, group in rows.with_row_index("place").group_by(_KEYS):
            head_dim, heads = (int(value) for value in key)
            batch, tokens = group["batch"].to_numpy(), group["tokens"].to_numpy()
            task = encoder_work(batch, tokens, heads, head_dim)
            least[group["place"].to_numpy()] = seconds(task, chip)
        points = rows.with_columns(roofline=pl.Series(least))
        axes = {"batch": every(points["batch"], 2), "tokens": every(points["tokens"], 2)}
        yield draft(f"encoder.{framework}", points, _KEYS, axes, f"encoder.{framework}")
