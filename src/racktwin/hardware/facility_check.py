"""What does not add up in the description of a hall's power chain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from racktwin.finding import Finding, unknown
from racktwin.hardware.facility import Facility
from racktwin.hardware.stage import Curve

MOST_FEEDS = 8
OWN = ("rack", "site")  # levels that every facility has


def facility_findings(facility: Facility) -> list[Finding]:
    """Every fault, with the key it is at."""
    return list(_faults(facility))


def _faults(facility: Facility) -> Iterator[Finding]:
    if facility.feeds > MOST_FEEDS:
        message = f"expected 1 to {MOST_FEEDS}, found {facility.feeds:,}"
        yield Finding("facility.feeds", message)
    if not facility.stages:
        yield Finding("facility.stages", "is empty; name at least the one above the racks")
    below, seen = 1, set(OWN)
    for at, stage in enumerate(facility.stages):
        key = f"facility.stages[{at}]"
        if stage.name in seen or not stage.name.replace("-", "").isidentifier():
            why = "stands twice" if stage.name in seen else "is no single word"
            yield Finding(f"{key}.name", f"{stage.name!r} {why}")
        seen.add(stage.name)
        if stage.racks % below:
            message = f"{stage.racks} racks are not whole units of the stage below ({below} racks)"
            yield Finding(f"{key}.racks", message)
        below = stage.racks
        if stage.limit <= 0:
            yield Finding(f"{key}.rating", "leaves no power to pass on; expected more than 0 W")
        if stage.curve is not None:
            yield from curve_faults(stage.curve, f"{key}.curve")
            if stage.standing or stage.series:
                yield Finding(f"{key}.curve", "give a curve, or standing and series, not both")
    for name in facility.budgets:
        if name not in seen:
            yield unknown(f"facility.budgets.{name}", name, seen)


def curve_faults(curve: Curve, key: str) -> Iterator[Finding]:
    """Faults of one efficiency curve at `key`."""
    load, efficiency = curve.load, curve.efficiency
    if len(load) != len(efficiency) or len(load) < 2:
        message = f"has {len(load)} loads and {len(efficiency)} efficiencies; expected as many, 2+"
        yield Finding(key, message)
        return
    if any(b <= a for a, b in pairwise(load)) or load[0] <= 0:
        yield Finding(f"{key}.load", "expected ascending loads above 0")
    if min(efficiency) <= 0:
        yield Finding(f"{key}.efficiency", "expected more than 0 %")
        return
    lost = [a / b - a for a, b in zip(load, efficiency, strict=True)]
    if any(b < a for a, b in pairwise(lost)):
        yield Finding(f"{key}.efficiency", "less is lost at a higher load")
