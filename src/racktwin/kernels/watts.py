"""What a chip draws while a kernel runs, as measured: watts over what the kernel does.

A map holds, for each family of operators, a grid over three coordinates: the FLOP/s and the HBM
bytes/s that the kernel reaches, as shares of the peaks of the measured chip, and its time. Two
kernels that do as much a second do not draw alike (padding, caches and launches differ), which is
why a family has a grid and not a constant; what is measured there also holds the loss of clock at
that chip's cap. Written by tools/fit_power.py.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import numpy as np

from racktwin.kernels.grid import Grid
from racktwin.kernels.roofline import Array, Work

SCALE = 1000.0
LEAST = 1e-6  # share of a peak; nothing measured lies below
INSTANT = 1e-9  # s


class MapIndex(msgspec.Struct, frozen=True):
    """The index of a map.

    idle: W of the measured chip without work; peak: FLOP/s by dtype, bandwidth: B/s that the
    shares refer to. families: names in the order of the grids. axes: shares of FLOP/s and of B/s,
    and s. rows, errors: of each family, how many were fitted (count), and the median error
    (fraction) on shapes left out.
    """

    idle: float
    peak: dict[str, float]
    bandwidth: float
    families: list[str]
    axes: list[list[float]]
    rows: list[int]
    errors: list[float]
    source: str


class PowerMap:
    """The measured watts of one chip, for it and for others of its process."""

    def __init__(self, archive: Any) -> None:
        self.index = msgspec.json.decode(archive["index"].tobytes(), type=MapIndex)
        axes = tuple(np.log(np.asarray(each, float)) for each in self.index.axes)
        values, measured = archive["values"] / SCALE, archive["measured"].astype(bool)
        self._grids = {
            name: Grid(axes, values[at], measured[at])
            for at, name in enumerate(self.index.families)
        }

    def __contains__(self, family: object) -> bool:
        return family in self._grids

    def watts(self, family: str, tasks: Sequence[Work], seconds: Array) -> Array:
        """Draw of the measured chip while it does `tasks`, together in `seconds`, W."""
        time = np.maximum(seconds, INSTANT)
        compute = sum(each.flops / self.index.peak[each.dtype] for each in tasks) / time
        memory = sum(each.bytes for each in tasks) / self.index.bandwidth / time
        shares = np.maximum(compute, LEAST), np.maximum(memory, LEAST)
        found = np.exp(self._grids[family].at(*shares, time)[0])
        return np.asarray(found)

    def joules(self, family: str, tasks: Sequence[Work], seconds: Array) -> Array:
        """Energy above idle of `tasks` in `seconds`, J; on a faster chip of the same process too.

        Work beyond the peaks of the measured chip costs in proportion.
        """
        time = np.maximum(seconds, INSTANT)
        compute = sum(each.flops / self.index.peak[each.dtype] for each in tasks) / time
        above = np.maximum(self.watts(family, tasks, seconds) - self.index.idle, 0.0)
        return np.asarray(above * np.maximum(1.0, compute) * seconds)


@cache
def power_map(name: str) -> PowerMap | None:
    """The map that ships under `name`, or None: then a formula stands in."""
    path = resources.files("racktwin.kernels") / "tables" / f"watts_{name}.npz"
    if not name.isidentifier() or not path.is_file():
        return None
    return PowerMap(np.load(io.BytesIO(path.read_bytes()), allow_pickle=False))
