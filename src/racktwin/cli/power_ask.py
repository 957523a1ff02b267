"""Loads, caps and budgets of `racktwin power`, as they are written on the command line."""

from __future__ import annotations

from racktwin.facility.chain import facility_of
from racktwin.facility.feed import lost_feeds
from racktwin.facility.flow import rack_count
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Facility
from racktwin.units import Fraction, Watts

WORDS = {"idle": 0.0, "full": 1.0}


def read_load(text: str, found: list[Finding]) -> float:
    """Share (fraction) of the way from idle to the limit: 'idle', 'full', '0.7' or '70%'."""
    if text in WORDS:
        return WORDS[text]
    value = Fraction.read(text)
    if isinstance(value, str):
        found.append(Finding("--load", f"expected idle, full or a share, found {text[:40]!r}"))
        return 1.0
    return float(value)


def read_cap(text: str | None, cluster: Cluster, found: list[Finding]) -> float | None:
    """W that a GPU may draw, at least its idle power and at most its TDP."""
    if text is None:
        return None
    value, chip = Watts.read(text), cluster.chip
    if isinstance(value, str):
        found.append(Finding("--cap", value))
    elif not chip.idle_power <= value <= chip.tdp:
        low, high = chip.idle_power, chip.tdp
        message = f"{value} is out of range; {chip.name.upper()} draws {low} idle, {high} at most"
        message += "; for a rack, --budget rack=120kW" if value > high else ""
        found.append(Finding("--cap", message))
    else:
        return float(value)
    return None


def check_faults(text: str, cluster: Cluster, facility: Facility, found: list[Finding]) -> None:
    """Note every fault that names something which is not there."""
    try:
        lost_feeds(text, facility, rack_count(cluster, facility))
    except BadInput as fault:
        found += fault.findings


def read_budgets(text: str, facility: Facility, found: list[Finding]) -> dict[str, Watts]:
    """Budgets by level: `rack=120kW,site=9 MW`."""
    made: dict[str, Watts] = {}
    known = ["rack", "site", *(stage.name for stage in facility.stages)]
    for word in filter(None, (each.strip() for each in text.split(","))):
        name, equals, value = (part.strip() for part in word.partition("="))
        watts = Watts.read(value) if equals else "expected LEVEL=WATTS as in rack=120kW"
        if isinstance(watts, str):
            found.append(Finding("--budget", f"{word[:40]!r}: {watts}"))
        elif name not in known:
            found.append(unknown("--budget", name, known))
        elif name in made:
            found.append(Finding("--budget", f"{name!r} is given twice"))
        else:
            made[name] = watts
    return made


def ask(
    cluster: Cluster, load: str, cap: str | None, budgets: str, fail: str
) -> tuple[Facility, float, float | None]:
    """The power chain with budgets, the load (fraction) and the cap (W); all findings at once."""
    chain, found = facility_of(cluster), list[Finding]()
    share, most = read_load(load, found), read_cap(cap, cluster, found)
    allowed = read_budgets(budgets, chain, found)
    check_faults(fail, cluster, chain, found)
    if found:
        raise BadInput(found, "power budget")
    return facility_of(cluster, allowed), share, most
