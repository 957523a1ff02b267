"""Questions about swings as they are typed: every fault at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from racktwin import catalog, hardware
from racktwin.facility.chain import facility_of
from racktwin.facility.pattern import Pattern, pattern
from racktwin.facility.smoothing import Smoothing, smoothing
from racktwin.facility.swings import Limit, Swings, swings
from racktwin.facility.swings_wish import SwingsWish
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.units import Fraction, Seconds, Watts

SHORTEST, LONGEST = 10.0, 600.0  # s of a series
QUICKEST = 0.02  # s of a step


def swings_of(name: str, wish: SwingsWish) -> tuple[Swings, Limit]:
    """The job on the cluster `name`, and the utility's limits; BadInput with every finding."""
    cluster = hardware.cluster(name, wish.racks, wish.nodes)
    found: list[Finding] = []
    kind, settings = _pattern(wish, found), _settings(wish, cluster, found)
    cap = _cap(wish, cluster, settings, found)
    limit = Limit(
        ramp=_read(wish.ramp_limit, "--ramp-limit", _rate, found),
        reach=_read(wish.range_limit, "--range-limit", Watts.read, found),
        band=_read(wish.band_limit, "--band-limit", Watts.read, found),
    )
    if not SHORTEST <= wish.seconds <= LONGEST:
        message = f"expected {SHORTEST:g} to {LONGEST:g} s, found {wish.seconds:g}"
        found.append(Finding("--seconds", message))
    if wish.seed < 0:
        found.append(Finding("--seed", f"expected 0 or more, found {wish.seed}"))
    if found:
        raise BadInput(found, "power swings")
    facility = facility_of(cluster)
    made = swings(cluster, facility, kind, settings, wish.seconds, cap, wish.seed)
    return made, limit


def _pattern(wish: SwingsWish, found: list[Finding]) -> Pattern:
    names = [each for each in catalog.names("swings") if each != "smoothing"]
    if wish.work not in names:
        found.append(unknown("--work", wish.work, names))
        kind = pattern("training")
    else:
        kind = pattern(wish.work)
    given: dict[str, Any] = {
        "step": _read(wish.step, "--step", Seconds.read, found),
        **{name: _read(getattr(wish, name), f"--{name}", Fraction.read, found)
           for name in ("working", "high", "low")},
    }  # fmt: skip
    kind = msgspec.structs.replace(kind, **_given(given))
    if not QUICKEST <= kind.step <= wish.seconds / 2:
        message = f"{kind.step} is out of range; expected {QUICKEST:g} s to half of --seconds"
        found.append(Finding("--step", message))
    if kind.low > kind.high:
        found.append(Finding("--low", f"{kind.low} is above {kind.high}, the high power"))
    if kind.working <= 0:
        found.append(Finding("--working", "expected more than 0 %"))
    return kind


def _settings(wish: SwingsWish, cluster: Cluster, found: list[Finding]) -> Smoothing:
    tdp = float(cluster.chip.tdp)
    given: dict[str, Any] = {
        "floor": _read(wish.floor, "--floor", Fraction.read, found),
        "hysteresis": _read(wish.hysteresis, "--hysteresis", Seconds.read, found),
    }
    for name in ("ramp_up", "ramp_down"):
        rate = _read(getattr(wish, name), f"--{name.replace('_', '-')}", _rate, found)
        if rate is not None and not 0 < rate <= 1e3 * tdp:
            found.append(Finding(f"--{name.replace('_', '-')}", "expected more than 0 W/s"))
        given[name] = None if rate is None else rate / tdp
    return msgspec.structs.replace(smoothing(), **_given(given))


def _cap(
    wish: SwingsWish, cluster: Cluster, settings: Smoothing, found: list[Finding]
) -> float | None:
    chip = cluster.chip
    cap = _read(wish.cap, "--cap", Watts.read, found)
    if cap is None:
        return None
    if not chip.idle_power <= cap <= chip.tdp:
        message = f"{cap} is out of range; {chip.name.upper()} draws {chip.idle_power} idle"
        found.append(Finding("--cap", f"{message}, {chip.tdp} at most"))
    elif settings.floor * chip.tdp > cap:
        least = Watts(settings.floor * chip.tdp).text(3)
        found.append(Finding("--cap", f"{cap} is below the floor of {least}; lower --floor too"))
    return float(cap)


def _given(wishes: dict[str, Any]) -> dict[str, Any]:
    """What was said of them."""
    return {key: value for key, value in wishes.items() if value is not None}


def _rate(text: str) -> Watts | str:
    """Watts of '5 MW/s', a rate in W/s, or what is wrong with it."""
    head, slash, tail = text.strip().rpartition("/")
    if not slash or tail.strip() != "s":
        return f"{text[:40]!r} is no rate; write '5 MW/s'"
    return Watts.read(head)


def _read(text: str | None, key: str, reader: Callable[[Any], Any], found: list[Finding]) -> Any:
    """What `reader` makes of `text`; None, with a finding where it cannot be read."""
    if text is None:
        return None
    value = reader(text)
    if isinstance(value, str):
        found.append(Finding(key, value))
        return None
    return value
