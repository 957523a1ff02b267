"""All usable measurements with their priced deployments, ready to be predicted many times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch
from racktwin.evidence import sheet
from racktwin.evidence.calibration.rescale import Rescaled, neutral
from racktwin.evidence.measurement import Measurement, deployment
from racktwin.evidence.prediction import Prediction, predict
from racktwin.evidence.sheet import Sheet
from racktwin.finding import BadInput
from racktwin.serving.steady import Served, SteadyState

Key = tuple[object, ...]


class Scored:
    """Measurements that could be priced (`rows`), and why the others could not (`refused`)."""

    def __init__(self, found: Sheet) -> None:
        self.rows: list[Measurement] = []
        self.refused: list[tuple[Measurement, str]] = []
        self.unread = found.refused
        self.served: dict[Key, Served] = {}
        for row in found.measurements:
            try:
                self._price(row)
            except BadInput as error:
                self.refused.append((row, str(error)))
            else:
                self.rows.append(row)

    @classmethod
    def of(cls, path: Path) -> Scored:
        """The rows of a table of published serving measurements."""
        return cls(sheet.read(path))

    def _price(self, row: Measurement) -> None:
        if _key(row) in self.served:
            return
        asked = deployment(row)
        self.served[_key(row)] = Served(
            msgspec.structs.replace(asked, engine=neutral(asked.engine)), row.fraction or None
        )

    def predict(
        self, epochs: Mapping[str, Epoch], rows: list[Measurement] | None = None
    ) -> list[Prediction]:
        """Predictions of `rows` (all) under `epochs` by name, else the catalog's."""
        asked = self.rows if rows is None else rows
        return [predict(row, served) for row, served in self._served(epochs, asked)]

    def steady(self, epochs: Mapping[str, Epoch]) -> list[SteadyState]:
        """The steady states of all rows under `epochs` by name, else the catalog's."""
        pairs = self._served(epochs, self.rows)
        return [served.closed(row.traffic, row.concurrency) for row, served in pairs]

    def _served(
        self, epochs: Mapping[str, Epoch], rows: list[Measurement]
    ) -> Iterator[tuple[Measurement, Served]]:
        ready: dict[Key, Served] = {}
        for row in rows:
            key = _key(row)
            if key not in ready:
                constants = epochs.get(row.engine) or epoch(row.engine)
                constants = msgspec.structs.replace(constants, **dict(row.constants))
                ready[key] = Rescaled(self.served[key], constants)
            yield row, ready[key]


def _key(row: Measurement) -> Key:
    launched = row.parts, row.kv, row.fraction, row.scheduler, row.engine, row.constants
    return row.cluster, row.model, row.precision, *launched, row.pools


def figures(rows: list[Measurement], figure: str) -> NDArray[np.float64]:
    """A measured figure ('ttft', 'tpot': s) of every row; NaN where it is missing or doubted."""
    values = [getattr(row, figure) if row.trusted(figure) else None for row in rows]  # type: ignore[arg-type]
    return np.array([np.nan if value is None else value for value in values])
