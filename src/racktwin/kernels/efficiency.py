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

if TYPE_CHECKING:
    from racktwin.hardware.chip import Chip


class Efficiency(msgspec.Struct, frozen=True):
    """Roofline time over real time of one operator at one fixed shape.

    grid: efficiency over what varies; None when it is `flat` (a fraction) everywhere, behind a
        `launch` (s).
    kind, name: the evidence, as a price will carry it.
    """

    kind: EvidenceKind
    name: str
    grid: Grid | None = None
    flat: float = 1.0
    launch: float = 0.0

    def price(self, tasks: Work | Sequence[Work], chip: Chip, *sizes: Sizes) -> Priced:
        """The price of `tasks`, one behind the other; `sizes`: coordinates on the grid's axes."""
        first, *rest = (tasks,) if isinstance(tasks, Work) else tasks
        least, flops, moved = seconds(first, chip), first.flops, first.bytes
        joules = chip.joules_per_flop[first.dtype] * flops
        for each in rest:
            least, flops = least + seconds(each, chip), flops + each.flops
            moved = moved + each.bytes
            joules = joules + chip.joules_per_flop[each.dtype] * each.flops
        time, evidence = self._stretched(least, sizes)
        return Priced(time, flops, moved, joules + chip.joules_per_byte * moved, evidence)

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
