"""How far an operator stays from its roofline, and what says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from racktwin.estimate import Evidence, EvidenceKind
from racktwin.kernels.grid import Grid
from racktwin.kernels.priced import Priced
from racktwin.kernels.roofline import Array, Sizes, Work, seconds
from racktwin.kernels.watts import power_map

if TYPE_CHECKING:
    from racktwin.hardware.chip import Chip


class Efficiency(msgspec.Struct, frozen=True):
    """Roofline time over real time of one operator at one fixed shape.

    grid: efficiency over what varies; None when it is `flat` (a fraction) everywhere, behind a
        `launch` (s).
    kind, name: the evidence, as a price will carry it.
    family: of operators whose watts were measured, '' for one without (`kernels.watts`).
    """

    kind: EvidenceKind
    name: str
    grid: Grid | None = None
    flat: float = 1.0
    launch: float = 0.0
    family: str = ""

    def price(self, tasks: Work | Sequence[Work], chip: Chip, *sizes: Sizes) -> Priced:
        """The price of `tasks`, one behind the other; `sizes`: coordinates on the grid's axes."""
        works = (tasks,) if isinstance(tasks, Work) else tuple(tasks)
        first, *rest = works
        least, flops, moved = seconds(first, chip), first.flops, first.bytes
        for each in rest:
            least, flops = least + seconds(each, chip), flops + each.flops
            moved = moved + each.bytes
        time, evidence = self._stretched(least, sizes)
        return Priced(time, flops, moved, self._joules(works, chip, time), evidence)

    def _joules(self, works: Sequence[Work], chip: Chip, time: Array) -> Array:
        """Energy above idle of `works` in `time` (s), J: as measured, else by the constants."""
        known = power_map(chip.power_map) if self.family and chip.power_map else None
        if known is not None and self.family in known:
            return known.joules(self.family, works, time)
        joules: Array = np.zeros_like(time)
        for each in works:
            joules = joules + chip.joules_per_flop[each.dtype] * each.flops
            joules = joules + chip.joules_per_byte * each.bytes
        return joules

    def _stretched(self, least: Array, sizes: tuple[Sizes, ...]) -> tuple[Array, Evidence]:
        """The time of a kernel whose roofline is `least` (s), and what it rests on."""
        evidence = Evidence(self.kind, self.name)
        if self.grid is None:
            return (least / self.flat + self.launch) * (least > 0), evidence
        logarithm, inside = self.grid.at(*sizes)
        inside = inside | (least == 0)
        if not inside.all():
            part = "partly " if inside.any() else ""
            name = f"{self.name}, {part}extrapolated along the roofline"
            evidence = Evidence(self.kind, name)
        return least * np.exp(-logarithm), evidence
