"""How far an operator stays from its roofline, and what says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from racktwin.estimate import Evidence, EvidenceKind
from racktwin.kernels.grid import Grid
from racktwin.kernels.priced import Priced
from racktwin.kernels.roofline import Work, seconds

if TYPE_CHECKING:
    from racktwin.hardware.chip import Chip


class Efficiency(msgspec.Struct, frozen=True):
    """Roofline time over real time of one operator at one fixed shape.

    grid: efficiency over what varies; None when it is `flat` (a fraction) everywhere.
    kind, name: the evidence, as a price will carry it.
    """

    kind: EvidenceKind
    name: str
    grid: Grid | None = None
    flat: float = 1.0

    def price(self, task: Work, chip: Chip, *sizes: ArrayLike) -> Priced:
        """The price of `task` on `chip`; `sizes` are the coordinates on the grid's axes."""
        least = seconds(task, chip)
        evidence = Evidence(self.kind, self.name)
        if self.grid is None:
            time = least / self.flat
        else:
            logarithm, inside = self.grid.at(*sizes)
            time = least * np.exp(-logarithm)
            if not inside.all():
                part = "partly " if inside.any() else ""
                name = f"{self.name}, {part}extrapolated along the roofline"
                evidence = Evidence(self.kind, name)
        joules = chip.joules_per_flop[task.dtype] * task.flops + chip.joules_per_byte * task.bytes
        return Priced(time, task.flops, task.bytes, joules, evidence)
