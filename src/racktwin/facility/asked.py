"""Questions about a hall as they are typed: every fault at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog, hardware
from racktwin.facility.bill import Bill, bill
from racktwin.facility.grid import grid
from racktwin.facility.hall import Hall, Lost, hall
from racktwin.facility.plant import Plant, plant
from racktwin.facility.series import carbon, prices
from racktwin.facility.station import weather
from racktwin.facility.transient import Transient, read_lost, transient
from racktwin.facility.weather import Weather, steady
from racktwin.facility.year import Year, year
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.units import Celsius, Fraction, Tariff

T = TypeVar("T")
Floats = NDArray[np.float64]
PLANT = "warm-water"  # where nothing is said
COLDEST, HOTTEST = -60.0, 60.0  # °C, of air anywhere
DRIEST = 0.01  # relative humidity; no air is without water


@dataclass(frozen=True, kw_only=True)
class HallWish:
    """Which hall is meant, as typed; None means nothing was said.

    Parameters
    ----------
    plant
        warm-water (the default), chiller, tower, adiabatic, heat-exchanger-unit, or a file like
        one of these.
    inlet
        Coolant to the racks: 45C; the plant's otherwise.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    """

    plant: str | None = None
    inlet: str | None = None
    racks: int | None = None
    nodes: int | None = None


@dataclass(frozen=True, kw_only=True)
class YearWish(HallWish):
    """A hall and a year of it, as typed.

    Parameters
    ----------
    weather
        A climate (phoenix, atlanta, virginia, texas, wisconsin, dublin, sweden, singapore) or an
        EPW file; the site's otherwise.
    load
        Share of the way from idle to the limit, all year.
    tariff
        $0.05/kWh, or a CSV file of hours ($/MWh or $/kWh in its heading); the site's otherwise.
    carbon
        300 g/kWh, or a CSV file of hours; the site's otherwise.
    """

    weather: str | None = None
    load: str = "100%"
    tariff: str | None = None
    carbon: str | None = None


@dataclass(frozen=True, kw_only=True)
class LossWish(HallWish):
    """A hall that loses cooling, as typed.

    Parameters
    ----------
    outdoor
        Outdoor air: 35C.
    humidity
        Relative humidity of it.
    load
        Share of the way from idle to the limit.
    """

    outdoor: str = "35C"
    humidity: str = "30%"
    load: str = "100%"


class Gathered:
    """Collects what readers say is wrong."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def read(self, key: str, reader: Callable[[], T]) -> T | None:
        """What `reader` gives, or None and its findings under `key`, files named."""
        try:
            return reader()
        except BadInput as fault:
            for each in fault.findings:
                inside = "/" in fault.source or "." in fault.source
                named = f"{fault.source}: {each}" if inside else each.message
                own = key if inside or not each.key.startswith("--") else each.key
                self.findings.append(Finding(own, named))
            return None

    def done(self, verb: str) -> None:
        """Raise what was found."""
        if self.findings:
            raise BadInput(self.findings, verb)


def read_hall(name: str, wish: HallWish, gathered: Gathered) -> tuple[Cluster, Plant] | None:
    """The cluster and its plant."""
    cluster = gathered.read("CLUSTER", lambda: hardware.cluster(name))
    if cluster is not None:
        whole = cluster
        size = "--racks" if wish.nodes is None else "--nodes"
        cluster = gathered.read(size, lambda: whole.with_(wish.racks, wish.nodes))
    used = gathered.read("--plant", lambda: read_plant(wish.plant or PLANT, wish.inlet))
    return None if cluster is None or used is None else (cluster, used)


def read_plant(name: str, inlet: str | None) -> Plant:
    """A plant by name or file, with another inlet as typed; BadInput with both their faults."""
    gathered = Gathered()
    at = None if inlet is None else Celsius.read(inlet)
    if isinstance(at, str):
        gathered.findings.append(Finding("--inlet", at))
        at = None
    found = gathered.read("", lambda: _plant(name, at))
    if gathered.findings or found is None:
        raise BadInput(gathered.findings, "")
    return found


def _plant(name: str, inlet: float | None) -> Plant:
    if not catalog.is_path(name) and name.lower() not in catalog.names("plants"):
        raise BadInput([unknown("--plant", name[:40], catalog.names("plants"))], "power")
    return plant(name, inlet)


def read_weather(name: str | None, cluster: Cluster | None, gathered: Gathered) -> Weather | None:
    """The weather asked for, else that of the cluster's site."""
    given = name
    if given is None and cluster is not None and cluster.site.weather:
        given = cluster.site.weather
        if given.lower().endswith(".epw") or catalog.is_path(given):
            given = os.path.join(os.path.dirname(cluster.source), given)
    if given is None:
        if cluster is not None:
            text = "is missing: a climate (phoenix, dublin, ...) or an .epw file"
            gathered.findings.append(Finding("--weather", text))
        return None
    return gathered.read("--weather", lambda: weather(given))


class Answer(msgspec.Struct, frozen=True):
    """A year and what it costs. prices: $/kWh by hour; intensity: kg/kWh by hour."""

    year: Year
    bill: Bill
    prices: Floats
    intensity: Floats


def year_of(cluster: str, wish: YearWish) -> Answer:
    """The year of a cluster; BadInput with everything wrong in the question."""
    gathered = Gathered()
    found = read_hall(cluster, wish, gathered)
    outdoors = read_weather(wish.weather, found[0] if found else None, gathered)
    share = gathered.read("--load", lambda: Fraction.parse(wish.load, "--load"))
    hours = len(outdoors) if outdoors is not None else 1
    site = found[0].site if found else None
    own_price = site.electricity if site else Tariff(0.0)
    own_carbon = (site.carbon if site else None) or grid().carbon
    paid = gathered.read("--tariff", lambda: prices(wish.tariff or own_price, hours))
    emitted = gathered.read("--carbon", lambda: carbon(wish.carbon or own_carbon, hours))
    made: Hall | None = None
    if found is not None:
        pair = found
        made = gathered.read("--inlet", lambda: hall(*pair, Lost()))
    gathered.done("power year")
    assert made is not None
    assert outdoors is not None
    assert share is not None
    assert paid is not None
    assert emitted is not None
    done = year(made, outdoors, float(share))
    return Answer(done, bill(done, paid, emitted), paid, emitted)


def loss_of(cluster: str, lost: str, wish: LossWish) -> Transient:
    """What a loss of cooling does to a cluster; BadInput with everything wrong in the question."""
    gathered = Gathered()
    found = read_hall(cluster, wish, gathered)
    dry = gathered.read("--outdoor", lambda: Celsius.parse(wish.outdoor, "--outdoor"))
    if dry is not None and not COLDEST <= dry <= HOTTEST:
        text = f"expected {COLDEST:g} to {HOTTEST:g} °C, found {wish.outdoor}"
        gathered.findings.append(Finding("--outdoor", text))
    moist = gathered.read("--humidity", lambda: Fraction.parse(wish.humidity, "--humidity"))
    load = gathered.read("--load", lambda: Fraction.parse(wish.load, "--load"))
    made: Hall | None = None
    if found is not None:
        pair = found
        made = gathered.read("--inlet", lambda: hall(*pair))
    if made is not None:
        whole = made
        gathered.read("--lose", lambda: read_lost(lost, whole))
    gathered.done("power lose")
    assert made is not None
    assert dry is not None
    assert moist is not None
    assert load is not None
    return transient(made, lost, steady(float(dry), max(float(moist), DRIEST)), float(load))
