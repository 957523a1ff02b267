"""The power budget of a hall: what each level carries, what binds first, what is stranded."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.draw import Draw, draw
from racktwin.facility.feed import lost_feeds
from racktwin.facility.flow import Flow, flow, rack_count
from racktwin.facility.level import Level, levels
from racktwin.facility.node import Node
from racktwin.facility.tree import power_tree
from racktwin.hardware import Cluster, Facility

HALVINGS = 40  # of the range of a GPU's power


class Budget(msgspec.Struct, frozen=True):
    """A hall at one load.

    load: share (fraction) of the way from idle to the limit; each: W of one part. failed: faults
    asked for, in words; feed_lost: whether the loss of one feed is looked at too.
    fitting_cap: W a GPU may draw so that every limit is kept, None where nothing is exceeded, 0
    where no cap helps. dark: racks without any feed (count).
    """

    cluster: Cluster
    facility: Facility
    load: float
    each: Draw
    failed: str
    feed_lost: bool
    power: Flow
    tree: Node
    levels: tuple[Level, ...]
    fitting_cap: float | None
    dark: int

    @property
    def binding(self) -> Level:
        """The limit that binds first when every load grows alike."""
        return max(self.levels, key=lambda level: level.use)

    @property
    def growth(self) -> float:
        """By what factor the load could grow until the first limit binds; below 1: overloaded."""
        return 1.0 / self.binding.use

    @property
    def exceeded(self) -> bool:
        """Whether a limit is exceeded as asked, all feeds that are left counted."""
        return any(level.now > level.limit for level in self.levels)

    def stranded(self, level: Level) -> float:
        """W of one feed's units of `level` that stay unused when the first limit binds."""
        return max(0.0, level.units * (level.limit - level.most * self.growth))


def budget(
    cluster: Cluster,
    facility: Facility,
    load: float = 1.0,
    cap: float | None = None,
    fail: str = "",
) -> Budget:
    """The chain of `cluster` at `load` (fraction), its GPUs capped at `cap` W, with faults."""
    alive = lost_feeds(fail, facility, rack_count(cluster, facility))
    each = draw(cluster, load, cap)
    power = flow(cluster, facility, each, alive)
    found = _levels(cluster, facility, each, alive, bool(fail))
    return Budget(
        cluster=cluster,
        facility=facility,
        load=load,
        each=each,
        failed=fail,
        feed_lost=not fail and facility.feeds > 1,
        power=power,
        tree=power_tree(cluster, facility, each, power),
        levels=tuple(found),
        fitting_cap=_fitting_cap(cluster, facility, each, alive, bool(fail)),
        dark=int((~alive.any(axis=1)).sum()),
    )


def _levels(
    cluster: Cluster, facility: Facility, each: Draw, alive: NDArray[np.bool_], failed: bool
) -> list[Level]:
    """Limits at the power asked for, and at that with one feed lost (all feeds are alike)."""
    now = flow(cluster, facility, each, alive)
    spare = now
    if not failed and facility.feeds > 1:
        rest = alive.copy()
        rest[:, 0] = False
        spare = flow(cluster, facility, each, rest)
    return levels(cluster, facility, now, spare)


def _fitting_cap(
    cluster: Cluster, facility: Facility, each: Draw, alive: NDArray[np.bool_], failed: bool
) -> float | None:
    """The highest GPU power at which no limit is exceeded; power rises with it everywhere."""

    def fits(gpu: float) -> bool:
        found = msgspec.structs.replace(each, gpu=gpu)
        return all(one.use <= 1 for one in _levels(cluster, facility, found, alive, failed))

    if fits(each.gpu):
        return None
    low, high = float(cluster.chip.idle_power), each.gpu
    if not fits(low):
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
