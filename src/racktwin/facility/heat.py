"""Heat of a hall: how much of the power ends up in liquid, in air, and in one GPU."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.chain import facility_of
from racktwin.facility.draw import draw
from racktwin.facility.flow import flow, rack_count
from racktwin.hardware import Cluster

Floats = NDArray[np.float64]
LOADS = np.linspace(0.0, 1.0, 21)


class Heat(msgspec.Struct, frozen=True):
    """By hour, W: of all IT, of it in liquid and in the hall's air, and of one GPU.

    losses: W between the racks and the meter, which are not in the hall.
    """

    it: Floats
    liquid: Floats
    air: Floats
    gpu: Floats
    losses: Floats


class Draws(msgspec.Struct, frozen=True):
    """The power chain at growing load, a share (fraction) of the way from idle to the limit.

    racks: W into all racks of GPUs; fabric: into those of switches; losses: between them and the
    meter; gpu: W of one GPU; liquid: share of a rack's heat in liquid.
    """

    load: Floats
    racks: Floats
    fabric: Floats
    losses: Floats
    gpu: Floats
    liquid: float

    def heat(self, load: Floats) -> Heat:
        """At any loads, shares of the way from idle to the limit, 0..1."""

        def read(row: Floats) -> Floats:
            return np.asarray(np.interp(load, self.load, row))

        racks, fabric = read(self.racks), read(self.fabric)
        liquid = self.liquid * racks
        air = racks - liquid + fabric
        return Heat(racks + fabric, liquid, air, read(self.gpu), read(self.losses))


def draws(cluster: Cluster) -> Draws:
    """What the chain of a cluster passes on, all feeds alive."""
    facility = facility_of(cluster)
    alive = np.ones((rack_count(cluster, facility), facility.feeds), bool)
    rows = []
    for load in LOADS:
        each = draw(cluster, float(load))
        power = flow(cluster, facility, each, alive)
        racks = float(power.inlet[: cluster.racks].sum())
        fabric = float(power.inlet[cluster.racks :].sum())
        losses = float(power.into[-1].sum()) - racks - fabric
        rows.append((racks, fabric, losses, each.gpu))
    racks_, fabric_, losses_, gpu = np.array(rows).T
    return Draws(LOADS, racks_, fabric_, losses_, gpu, float(cluster.rack.liquid))
