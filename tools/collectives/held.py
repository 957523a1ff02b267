"""Each size of a collective predicted by a curve or an exchange that was fitted without it."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from collectives import exchanges, libraries, nccl, pieces, records
from racktwin.network.curve import Array

COLUMNS = ("table", "system", "operation", "ranks", "size", "held_us")
MICRO = 1e6
Row = tuple[str, str, str, int, str, str]


def write(folder: Path, path: Path) -> int:
    """The file of all of them; their number. folder: of the measured tables."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = [*_curves(folder), *_exchanges(folder)]
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    return len(rows)


def _curves(folder: Path) -> Iterator[Row]:
    groups = nccl.read(folder).group_by(["system", "op", "ranks"], maintain_order=True)
    for (system, op, ranks), group in groups:
        size, truth = group["size"].to_numpy(), group["seconds"].to_numpy()
        held = pieces.held(size, truth)
        for bytes_, seconds in zip(size[1:-1], held, strict=True):
            yield "nccl", str(system), str(op), int(ranks), f"{bytes_:.0f}", _micro(seconds)


def _exchanges(folder: Path) -> Iterator[Row]:
    tables = {
        ("nvlink_two_sided", "gb200"): libraries.two_sided(folder),
        ("nvlink_one_sided", "gb200"): libraries.one_sided(folder),
        ("deepep_low_latency", "gb300"): libraries.low_latency(folder, "gb300"),
    }
    for (name, system), table in tables.items():
        copies = "expert" if name == "deepep_low_latency" else "rank"
        for (phase, payload), rows in table.group_by(["phase", "payload"], maintain_order=True):
            sized = libraries.with_copies(rows, copies, balanced=copies == "rank")  # type: ignore[arg-type]
            base = max(int(table["ranks"].to_numpy().min()), 4)
            held = exchanges.held(sized, base, records.link(system))
            yield from _keyed(name, system, f"{phase} {payload}", sized, held)


def _keyed(
    name: str, system: str, operation: str, rows: pl.DataFrame, held: Array
) -> Iterator[Row]:
    columns = ("ranks", "tokens", "hidden", "top_k", "experts")
    for (ranks, tokens, hidden, top_k, experts), seconds in zip(
        rows.select(columns).iter_rows(), held, strict=True
    ):
        size = f"{tokens}x{hidden} top{top_k}" + (f" of {experts}" if experts else "")
        yield name, system, operation, int(ranks), size, _micro(float(np.asarray(seconds)))


def _micro(seconds: float) -> str:
    return f"{seconds * MICRO:.5g}"
