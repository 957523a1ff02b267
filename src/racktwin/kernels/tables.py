"""The measured tables of a chip, as tools/distill.py wrote them: one .npz a chip.

Member `index` is JSON (UTF-8 bytes): peaks and bandwidth the efficiencies refer to, and for every
table its axes, the names of its key columns and its source. A table `t` has members `t.values`
(int16: -1000 ln efficiency), `t.measured` (packed bits) and, when it is a stack of grids,
`t.keys` (int32, a row a grid). Members are read when a table is first asked for.
"""

from __future__ import annotations

import io
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.kernels.grid import Grid

SCALE = 1000.0


class TableFacts(msgspec.Struct, frozen=True):
    """What the index says of a table."""

    axes: dict[str, list[float]]
    keys: list[str]
    source: str


class Index(msgspec.Struct, frozen=True):
    """The index of a chip's tables; FLOP/s by dtype and B/s are those of the rooflines used."""

    peak: dict[str, float]
    bandwidth: float
    tables: dict[str, TableFacts]


class Table(msgspec.Struct, frozen=True):
    """A stack of grids over the same axes; `keys` names what each grid was measured for."""

    facts: TableFacts
    keys: NDArray[np.int32]
    grids: Grid

    def grid(self, row: int) -> Grid:
        """The grid of one row of `keys`."""
        return Grid(self.grids.axes, self.grids.values[row], self.grids.measured[row])

    def row(self, *key: float) -> int | None:
        """The row whose key columns equal `key`, or None."""
        found = np.flatnonzero((self.keys == np.asarray(key)).all(axis=1))
        return int(found[0]) if len(found) else None


class Tables:
    """The measured tables that ship for one chip ('gb300')."""

    def __init__(self, name: str, archive: Any) -> None:
        self.name = name
        self._archive = archive
        self._read: dict[str, Table | None] = {}
        self.index = msgspec.json.decode(archive["index"].tobytes(), type=Index)

    def get(self, name: str) -> Table | None:
        """The table `name` ('gemm.nvfp4.sglang'), or None when nothing was measured."""
        if name not in self._read:
            facts = self.index.tables.get(name)
            self._read[name] = None if facts is None else self._load(name, facts)
        return self._read[name]

    def _load(self, name: str, facts: TableFacts) -> Table:
        stored = self._archive[f"{name}.values"]
        bits = np.unpackbits(self._archive[f"{name}.measured"], count=stored.size)
        axes = tuple(np.log(np.asarray(sizes, float)) for sizes in facts.axes.values())
        keys = self._archive[f"{name}.keys"]
        grids = Grid(axes, stored / -SCALE, bits.reshape(stored.shape).astype(bool))
        return Table(facts, keys, grids)


@cache
def tables(name: str) -> Tables | None:
    """The tables that ship under `name`, or None: then every price falls back to the roofline."""
    path = resources.files("racktwin.kernels") / "tables" / f"{name}.npz"
    if not name.isidentifier() or not path.is_file():
        return None
    # From memory: worker processes would share the place in an open file.
    return Tables(name, np.load(io.BytesIO(path.read_bytes()), allow_pickle=False))
