"""Gated delta rule: the short convolution and the scan of a layer, added."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distillation.draft import Draft, draft
from distillation.source import FRAMEWORKS, Source
from distillation.thinning import every
from racktwin.hardware import Chip
from racktwin.kernels.recurrent import Scan, scan_work
from racktwin.kernels.roofline import seconds

_KEYS = ["key_heads", "value_heads", "key_dim", "value_dim"]
_PHASES = {"decode": "generation", "prefill": "context"}


def drafts(source: Source, chip: Chip) -> Iterator[Draft]:
    for framework in FRAMEWORKS:
        table = source.read(framework, "gdn")
        if table is None:
            continue
        for phase, raw in _PHASES.items():
            rows = table.filter(pl.col("phase") == raw)
            yield _draft(f"scan_{phase}.{framework}", rows, phase, chip)


def _draft(name: str, table: pl.DataFrame, phase: str, chip: Chip) -> Draft:
    rows = table.select(
        "seconds",
        convolution=pl.col("kernel_source").str.starts_with("causal_conv1d"),
        key_heads="num_k_heads",
        value_heads="num_v_heads",
        key_dim="head_k_dim",
        value_dim="head_v_dim",
        batch="batch_size",
        tokens="seq_len",
    )
    point = [*_KEYS, "batch", "tokens"]
    rows = rows.group_by([*point, "convolution"]).agg(pl.col("seconds").median())
    both = rows.group_by(point).agg(pl.col("seconds").sum(), pl.len()).filter(pl.col("len") == 2)
    both = both.sort(point)
    least = np.zeros(both.height)
    for key, group in both.with_row_index("place").group_by(_KEYS):
        key_heads, value_heads, key_dim, value_dim = (int(value) for value in key)
        shape = Scan("gated-delta", key_heads, value_heads, key_dim, value_dim, 4)
        task = scan_work(group["batch"].to_numpy(), group["tokens"].to_numpy(), shape)
        least[group["place"].to_numpy()] = seconds(task, chip)
    points = both.with_columns(roofline=pl.Series(least))
    axes = {"batch": every(points["batch"], 2)}
    if phase == "prefill":
        axes["tokens"] = every(points["tokens"], 2)
    return draft(name, points, _KEYS, axes, name)
