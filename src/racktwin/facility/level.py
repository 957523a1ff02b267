"""Limits along the power chain, and what stands against each."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from racktwin.facility.flow import Flow
from racktwin.hardware import Cluster, Facility

SHELVES = "power shelves"


class Level(msgspec.Struct, frozen=True):
    """One limit of the chain.

    name: 'power shelves', a stage, or 'rack' or 'site' where its operator set a budget.
    units: of one feed (count). limit: W one unit may pass on. budget: whether an operator, not
    the equipment, sets it. now, spare: W of the fullest unit as asked, and when one feed is lost
    (the same where that was not asked). below: sum of the limits of what hangs on one unit, W.
    """

    name: str
    units: int
    limit: float
    budget: bool
    now: float
    spare: float
    below: float

    @property
    def most(self) -> float:
        """W of the fullest unit in the worse of the two cases."""
        return max(self.now, self.spare)

    @property
    def headroom(self) -> float:
        """W left in the worse of the two cases; below zero when overloaded."""
        return self.limit - self.most

    @property
    def use(self) -> float:
        """Share (fraction) of the limit in the worse of the two cases."""
        return self.most / self.limit

    @property
    def oversubscription(self) -> float:
        """Sum of the limits below one unit over its own, a ratio; above 1 they cannot all be full.

        0 where nothing below has a limit.
        """
        return self.below / self.limit


def levels(cluster: Cluster, facility: Facility, now: Flow, spare: Flow) -> list[Level]:
    """Every limit of the chain from the rack upwards, with what stands against it."""
    return list(_levels(cluster, facility, now, spare))


def _levels(cluster: Cluster, facility: Facility, now: Flow, spare: Flow) -> Iterator[Level]:
    rack, gpu_racks = cluster.rack, len(now.hosts)
    budgets = facility.budgets
    below, size = 0.0, 1
    if rack.shelves:
        limit = rack.shelves * float(rack.shelf_power) / facility.feeds
        peaks = [float(each.shelves[:gpu_racks].max()) for each in (now, spare)]
        yield Level(SHELVES, gpu_racks, limit, False, peaks[0], peaks[1], 0.0)
        below = limit
    if "rack" in budgets:
        peaks = [float(each.inlet[:gpu_racks].sum(axis=1).max()) for each in (now, spare)]
        yield Level("rack", gpu_racks, float(budgets["rack"]), True, peaks[0], peaks[1], 0.0)
    for at, stage in enumerate(facility.stages):
        own = float(budgets.get(stage.name, stage.limit))
        limit = min(own, stage.limit)
        peaks = [float(each.out[at].max()) for each in (now, spare)]
        under = below * stage.racks / size
        yield Level(
            stage.name, len(now.out[at]), limit, own < stage.limit, peaks[0], peaks[1], under
        )
        below, size = limit, stage.racks
    if "site" in budgets:
        under = below * len(now.out[-1])
        yield Level("site", 1, float(budgets["site"]), True, now.site, spare.site, under)
