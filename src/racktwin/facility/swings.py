"""Power of racks and site over a job at 1 ms, as it is and steadied, against a utility's limits."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.conversion import bus_loss, curve_loss, stage_loss
from racktwin.facility.draw import draw, host_draw
from racktwin.facility.flow import rack_count, switch_racks
from racktwin.facility.pattern import LEAD, TICK, Course, Pattern, course
from racktwin.facility.smoothing import Smoothing, driven, stored
from racktwin.facility.spectrum import BANDS, band, ramps, widest
from racktwin.hardware import Cluster, Facility

Array = NDArray[np.float64]
RAMP, RANGE = 1.0, 10.0  # s: windows of a utility's ramp and range
SETTLING = 2.0  # s of a job before its bands are looked at
PLAIN, SHELVES, DRIVER, BOTH = "as it is", "shelf storage", "driver", "both"


class Variant(msgspec.Struct, frozen=True):
    """One way to run the job.

    rack: W into one rack; site: W at the meter; both a value a tick. rise, fall: steepest W/s of
    means over 1 s; fastest: steepest W/s of means over 10 ms; reach: widest difference within
    10 s, W; bands: root mean square W in each of `BANDS` at the meter, while the job runs.
    burnt: energy spent for steadiness over that of the job as it is; held: work that had to wait
    over all work, as energy (fractions).
    """

    name: str
    rack: Array
    site: Array
    rise: float
    fall: float
    fastest: float
    reach: float
    bands: tuple[float, ...]
    burnt: float
    held: float

    @property
    def peak(self) -> float:
        """Highest W at the meter."""
        return float(self.site.max())


class Swings(msgspec.Struct, frozen=True):
    """A job on a whole cluster. cap: W of a GPU, None for its TDP; slower: what that costs a
    step, a ratio; step: s of a step as it came out; kind: the pattern asked for.
    """

    cluster: Cluster
    facility: Facility
    kind: Pattern
    settings: Smoothing
    cap: float | None
    slower: float
    step: float
    variants: tuple[Variant, ...]


def swings(
    cluster: Cluster,
    facility: Facility,
    kind: Pattern,
    settings: Smoothing,
    seconds: float = 60.0,
    cap: float | None = None,
    seed: int = 0,
) -> Swings:
    """`seconds` of the job in every variant that the machine has; cap: W of a GPU."""
    made = course(kind, cluster, seconds, cap, seed)
    variants = tuple(_variants(cluster, facility, kind, settings, made))
    return Swings(cluster, facility, kind, settings, cap, made.slower, made.step, variants)


def _variants(
    cluster: Cluster, facility: Facility, kind: Pattern, settings: Smoothing, made: Course
) -> Iterator[Variant]:
    chip, rack = cluster.chip, cluster.rack
    tdp, idle = float(chip.tdp), float(chip.idle_power)
    plain = _rack(cluster, facility, made.watts)
    whole = float(plain.sum()) * TICK / len(plain)
    store, loss = float(rack.storage), float(settings.storage_loss)

    def variant(name: str, racks: Array, held: float) -> Variant:
        spent = float(racks.sum()) * TICK / len(racks) / whole - 1
        return _variant(cluster, facility, kind, name, racks, (spent, held), made.step)

    yield variant(PLAIN, plain, 0.0)
    if store:
        yield variant(SHELVES, stored(plain, store, loss).watts, 0.0)
    if not chip.family.startswith("blackwell"):
        return
    held = driven(made.watts, tdp, idle, settings)
    work = (made.watts - idle).sum() * TICK
    share = float(held.held.sum() / work) if work else 0.0
    steadied = _rack(cluster, facility, held.watts)
    yield variant(DRIVER, steadied, share)
    if store:
        yield variant(BOTH, stored(steadied, store, loss).watts, share)


def _rack(cluster: Cluster, facility: Facility, gpu: Array) -> Array:
    """W into a full rack whose GPUs draw `gpu` W each, everything else as at full load."""
    rack, each = cluster.rack, draw(cluster, 1.0)
    rest = rack.hosts * (host_draw(cluster, each) - rack.host.gpus * each.gpu)
    useful = rest + rack.switches * each.asic + rack.gpus * gpu
    installed = rack.shelves * float(rack.shelf_power)
    through = useful + bus_loss(float(rack.bus_loss), installed / 2, useful)
    if rack.shelf_curve is not None and installed:
        return np.asarray(through + curve_loss(rack.shelf_curve, installed, through))
    return np.asarray(through / rack.conversion)


def _site(cluster: Cluster, facility: Facility, kind: Pattern, racks: Array) -> Array:
    """W at the meter; racks of a job that moves together start within its skew."""
    mean = racks.mean(axis=0)
    width = round(float(kind.skew) / TICK)
    if width > 1:
        padded = np.concatenate([np.full(width - 1, mean[0]), mean])
        mean = np.convolve(padded, np.full(width, 1 / width), "valid")
    hosts = cluster.hosts / cluster.rack.hosts
    switches = float(switch_racks(cluster, facility).sum()) * draw(cluster, 1.0).switch
    it = hosts * mean + switches
    total, count = it, rack_count(cluster, facility)
    for stage in facility.stages:
        units = facility.feeds * -(-count // stage.racks)
        total = total + units * stage_loss(stage, total / units)
    house = max(0.0, float(it.mean()) * cluster.site.pue - float(total.mean()))
    return np.asarray(total + house)


def _variant(
    cluster: Cluster,
    facility: Facility,
    kind: Pattern,
    name: str,
    racks: Array,
    costs: tuple[float, float],
    step: float,
) -> Variant:
    site = _site(cluster, facility, kind, racks)
    rise, fall = ramps(site, RAMP)
    inner = running(site, step if kind.together else 0.0)
    return Variant(
        name=name,
        rack=racks[0],
        site=site,
        rise=rise,
        fall=fall,
        fastest=max(ramps(site, TICK * 10)),
        reach=widest(site, RANGE),
        bands=tuple(band(inner, low, high) for low, high in BANDS),
        burnt=costs[0],
        held=costs[1],
    )


def running(watts: Array, step: float) -> Array:
    """The part of a series (W) in which the job runs steadily, in whole steps of `step` s."""
    lead = min(LEAD, len(watts) * TICK / 8)
    low, high = round((lead + SETTLING) / TICK), len(watts) - round(lead / TICK)
    if high - low < 1 / TICK:
        return watts
    whole = int((high - low) * TICK / step) if step else 0
    return watts[low : low + round(whole * step / TICK)] if whole else watts[low:high]


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What a utility allows at the meter, None where it says nothing.

    ramp: W/s of means over 1 s, up or down; reach: W within 10 s; band: root mean square W in any
    band from 0.1 to 20 Hz.
    """

    ramp: float | None = None
    reach: float | None = None
    band: float | None = None

    def broken(self, variant: Variant) -> list[str]:
        """Names of the limits that a variant exceeds: 'ramp', 'range', 'band'."""
        found = {
            "ramp": (max(variant.rise, variant.fall), self.ramp),
            "range": (variant.reach, self.reach),
            "band": (max(variant.bands), self.band),
        }
        return [name for name, (value, most) in found.items() if most is not None and value > most]

    @property
    def stated(self) -> bool:
        """Whether it limits anything."""
        return any(each is not None for each in (self.ramp, self.reach, self.band))
