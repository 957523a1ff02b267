"""racktwin's own traces: Parquet with one row per request and all that a trace knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import COLUMNS, Trace
from racktwin.serving.traces.batch import Batch, Floats
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

if TYPE_CHECKING:
    import polars as pl

NEEDED = ("arrival", "input", "output")
ROWS = 1 << 16  # read at once


def write(trace: Trace, path: str | Path) -> None:
    """Store a whole trace; reading it gives the same requests."""
    import polars as pl

    columns = {name: getattr(trace, name) for name in COLUMNS}
    if trace.block_size:
        rows = np.split(trace.blocks, trace.starts[1:-1])[: len(trace)]
        columns["blocks"] = pl.Series(rows, dtype=pl.List(pl.Int64))
    if trace.classes:
        known = np.array([*trace.classes, ""])
        columns["class"] = known[trace.slo_class]  # the last stands for none
    del columns["slo_class"]
    about = {"block_size": str(trace.block_size)}
    about |= {name: "\n".join(getattr(trace, name)) for name in ("models", "classes")}
    pl.DataFrame(columns).write_parquet(path, metadata=about)


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """The requests of a file; other columns than `arrival` (s), `input`, `output` may be absent."""
    import polars as pl

    reading.origin = 0.0
    try:
        about = pl.read_parquet_metadata(source.path)
        frame = pl.scan_parquet(source.path)
        known = frame.collect_schema().names()
        if missing := [name for name in NEEDED if name not in known]:
            raise source.fault(f"has no column {', '.join(missing)}")
        if "blocks" in known:
            reading.block_size = int(about.get("block_size", 0))
        for name, known_names in (("models", reading.models), ("classes", reading.classes)):
            for each in filter(None, about.get(name, "").split("\n")):
                known_names.number(each)
        for start in range(0, frame.select(pl.len()).collect().item(), ROWS):
            yield _batch(frame.slice(start, ROWS).collect(), start, reading)
    except (pl.exceptions.PolarsError, OSError, ValueError, TypeError) as error:
        detail = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise source.fault(f"cannot be read: {detail}") from error


def _batch(frame: pl.DataFrame, start: int, reading: Reading) -> Batch:
    def column(name: str) -> Floats:
        return frame[name].cast(float).fill_null(float("nan")).to_numpy()

    rest: dict[str, Any] = {
        name: column(name) if name == "pause" else frame[name].fill_null(-1).to_numpy().astype(int)
        for name in ("pause", "session", "model", "priority", "encoder", "images")
        if name in frame.columns
    }
    if "after" in frame.columns:  # counted from 0, lines from 1
        after = frame["after"].fill_null(-1).to_numpy().astype(int)
        rest["follows"] = np.where(after < 0, -1, after + 1)
    if "class" in frame.columns:
        words = frame["class"].cast(str).fill_null("").to_list()
        rest["slo_class"] = np.array([reading.classes.number(each) for each in words])
    prefix = None
    if reading.block_size:
        prefix = Ragged.of([None if row is None else row.to_numpy() for row in frame["blocks"]])
    line = start + 1 + np.arange(len(frame))
    needed = (column(name) for name in NEEDED)
    return Batch.of(line, *needed, prefix=prefix or Ragged.empty(len(frame)), **rest)
