"""Which power chain a cluster hangs on, with budgets that hold at least what idles there."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from racktwin import catalog
from racktwin.facility.draw import draw
from racktwin.facility.flow import flow, rack_count
from racktwin.facility.level import levels
from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster, Facility
from racktwin.units import Watts

LIQUID, AIR = "liquid-hall", "air-hall"


def facility_of(cluster: Cluster, budgets: Mapping[str, Watts] | None = None) -> Facility:
    """The cluster's facility, else the catalog's for its way of cooling.

    budgets: W by level, laid over those of the file. BadInput when one is below what idles.
    """
    found = cluster.facility
    if found is None:
        name = LIQUID if cluster.rack.liquid >= 1 / 2 else AIR
        found = catalog.load("facilities", name).build(Facility)
        found = msgspec.structs.replace(found, name=name)
    given = dict(budgets or {})
    found = msgspec.structs.replace(found, budgets={**found.budgets, **given})
    _check_idle(cluster, found, given)
    return found


def _check_idle(cluster: Cluster, facility: Facility, given: Mapping[str, Watts]) -> None:
    """Refuse budgets that the idle hall exceeds."""
    if not facility.budgets:
        return
    alive = np.ones((rack_count(cluster, facility), facility.feeds), bool)
    idle = flow(cluster, facility, draw(cluster, 0.0), alive)
    wrong = []
    for level in levels(cluster, facility, idle, idle):
        if level.budget and level.use > 1:
            own = level.name not in given
            key = f"facility.budgets.{level.name}" if own else "--budget"
            message = (
                f"{level.name}: {Watts(level.limit)} is below the {Watts(level.now).text(3)} "
                "that it draws idle"
            )
            wrong.append(Finding(key, message, _line(cluster, key) if own else None))
    if wrong:
        raise BadInput(wrong, cluster.source or "power")


def _line(cluster: Cluster, key: str) -> int | None:
    return catalog.load("clusters", cluster.source).line(key) if cluster.source else None
