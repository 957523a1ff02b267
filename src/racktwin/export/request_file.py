"""One row per finished request in a Parquet file, written while a simulation runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from racktwin.finding import BadInput, Finding

ROWS = 1 << 18  # of one part


class RequestFile:
    """Collects columns of requests in parts beside the target and joins them at the end.

    Times are s from the start of the stream; `request` is the place in it, from 0.
    """

    def __init__(self, target: str) -> None:
        self.target = Path(target) if target else None
        self.parts: Path | None = None
        self.held: list[dict[str, NDArray[Any]]] = []
        self.count = self.written = 0

    def __enter__(self) -> Self:
        if self.target is not None:
            try:
                self.parts = Path(tempfile.mkdtemp(prefix=".requests.", dir=self.target.parent))
            except OSError as fault:
                reason = f"cannot be written: {fault.strerror or fault}"
                found = Finding("--requests-out", reason)
                raise BadInput([found], str(self.target)) from None
        return self

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Finished requests, in the order they finished."""
        if self.parts is None:
            return
        self.held.append({name: values.copy() for name, values in columns.items()})
        self.count += len(columns["request"])
        if self.count >= ROWS:
            self._write()

    def _write(self) -> None:
        import polars as pl

        assert self.parts is not None
        names = self.held[0]
        joined = {name: np.concatenate([each[name] for each in self.held]) for name in names}
        pl.DataFrame(joined).write_parquet(self.parts / f"{self.written:06}.parquet")
        self.held, self.count, self.written = [], 0, self.written + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.parts is None:
            return
        try:
            if kind is None and (self.held or self.written):
                self._join()
        finally:
            shutil.rmtree(self.parts, ignore_errors=True)

    def _join(self) -> None:
        import polars as pl

        assert self.parts is not None
        if self.held:
            self._write()
        pieces = sorted(self.parts.glob("*.parquet"))
        whole = self.parts / "whole"
        pl.scan_parquet(pieces).sink_parquet(whole)
        if self.target is not None:
            whole.replace(self.target)
