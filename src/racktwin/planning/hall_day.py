"""A deployment that serves a day in its hall, as it is asked for: every fault at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.facility.asked import PLANT, Gathered, read_plant, read_weather
from racktwin.facility.day import Day
from racktwin.facility.day import Served as Ran
from racktwin.facility.day import run as simulate
from racktwin.facility.grid import grid
from racktwin.facility.hall import hall
from racktwin.facility.series import carbon, prices
from racktwin.facility.serving_table import Load, day_law
from racktwin.finding import BadInput, Finding
from racktwin.planning.demand import asked
from racktwin.planning.prediction import lacking
from racktwin.serving import mix
from racktwin.serving.steady import Served, rising
from racktwin.serving.traffic import Traffic
from racktwin.units import Fraction, Rate, Watts

Floats = NDArray[np.float64]
HOURS, MOST_DAYS = 24, 366
HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class DayWish:
    """A day of a hall, as typed; None means nothing was said.

    Parameters
    ----------
    workload
        Traffic by name, a YAML file of it, or a trace: its lengths, and its hours where it covers a
        day.
    input
        Mean input tokens of a request, instead.
    output
        Mean output tokens of a request.
    rate
        Requests a second on average over the day, over all copies: 900/s.
    peak
        Load of the busiest hour instead, as a share of what the deployment carries; 85% by default.
    weather
        A climate or an EPW file; the site's otherwise.
    day
        First day, 1 to 365; by default the one with the hottest hour.
    days
        How many.
    cap
        Power of a rack at most: 110kW.
    plant
        warm-water (the default), chiller, tower, adiabatic, heat-exchanger-unit, or a file.
    inlet
        Coolant to the racks: 45C; the plant's otherwise.
    tariff
        $0.05/kWh, or a CSV file of hours; the site's otherwise.
    carbon
        300 g/kWh, or a CSV file of hours; the site's otherwise.
    seed
        Another draw of the same statistics.
    """

    workload: str | None = None
    input: int | None = None
    output: int | None = None
    rate: str | None = None
    peak: str | None = None
    weather: str | None = None
    day: int | None = None
    days: int = 1
    cap: str | None = None
    plant: str | None = None
    inlet: str | None = None
    tariff: str | None = None
    carbon: str | None = None
    seed: int = 0


class HallDay(msgspec.Struct, frozen=True, kw_only=True):
    """What came out, and what it costs. electricity: $; carbon: kilograms; notes: on the file."""

    deployment: Deployment
    traffic: Traffic
    ran: Ran
    first: int
    profile: str
    electricity: float
    carbon: float
    notes: tuple[Finding, ...]

    @property
    def behind(self) -> bool:
        """Whether requests still wait at the end, more than a minute's worth."""
        return self.ran.asked - self.ran.requests > 60 * self.ran.day.serving.capacity


def hall_day(path: str | Path, wish: DayWish, oracle: bool = False) -> HallDay:
    """Read the question and run it; BadInput with everything wrong in it."""
    gathered = Gathered()
    read = gathered.read("DEPLOYMENT", lambda: read_deployment(path))
    cluster = read[0].cluster if read else None
    plant = gathered.read("--plant", lambda: read_plant(wish.plant or PLANT, wish.inlet))
    outdoors = read_weather(wish.weather, cluster, gathered)
    cap = gathered.read(
        "--cap", lambda: None if wish.cap is None else Watts.parse(wish.cap, "--cap")
    )
    demand = asked(wish.workload, wish.input, wish.output, None, gathered.findings)
    _numbers(wish, gathered)
    rate = gathered.read("--rate", lambda: wish.rate and Rate.parse(wish.rate, "--rate"))
    peak = gathered.read("--peak", lambda: Fraction.parse(wish.peak or "85%", "--peak"))
    if peak is not None and not peak > 0:
        gathered.findings.append(Finding("--peak", f"expected more than 0, found {wish.peak}"))
    made = None
    if cluster is not None and plant is not None:
        own, used = cluster, plant
        made = gathered.read("--inlet", lambda: hall(own, used))
    hours = len(outdoors) if outdoors else 1
    site = cluster.site if cluster else None
    tariff = wish.tariff or (site.electricity if site else "$0/kWh")
    dirt = wish.carbon or (site.carbon if site else None) or grid().carbon
    paid = gathered.read("--tariff", lambda: prices(tariff, hours))
    emitted = gathered.read("--carbon", lambda: carbon(dirt, hours))
    gathered.done("power simulate")
    assert read is not None and made is not None and outdoors is not None  # noqa: PT018
    assert demand is not None and paid is not None and emitted is not None  # noqa: PT018
    serving = load_of(read[0], demand.traffic, str(path))
    shape, words = _profile(wish.workload)
    top = float(rate) / shape.mean() / serving.capacity if rate else float(peak or 0.0)
    first = wish.day - 1 if wish.day else int(outdoors.dry.argmax()) // HOURS
    around = np.arange(wish.days * HOURS + 1) % HOURS
    ran = simulate(
        Day(
            hall=made,
            serving=serving,
            weather=outdoors,
            load=shape[around] * top,
            start=first * HOURS,
            seed=wish.seed,
            cap=None if cap is None else float(cap),
        ),
        oracle,
    )
    cost, kilograms = (_over(ran, row) for row in (paid, emitted))
    return HallDay(
        deployment=read[0],
        traffic=demand.traffic,
        ran=ran,
        first=first + 1,
        profile=words,
        electricity=cost,
        carbon=kilograms,
        notes=read[1],
    )


def _numbers(wish: DayWish, gathered: Gathered) -> None:
    if wish.rate is not None and wish.peak is not None:
        gathered.findings.append(Finding("--peak", "give --rate or --peak, not both"))
    for key, value, most in (("--day", wish.day or 1, 365), ("--days", wish.days, MOST_DAYS)):
        if not 1 <= value <= most:
            gathered.findings.append(Finding(key, f"expected 1 to {most}, found {value}"))
    if wish.day == 0:
        gathered.findings.append(Finding("--day", "expected 1 to 365, found 0"))
    if wish.seed < 0:
        gathered.findings.append(Finding("--seed", f"expected 0 or more, found {wish.seed}"))


def load_of(deployment: Deployment, traffic: Traffic, source: str) -> Load:
    """A deployment over its load, from its step tables in the steady state."""
    served = Served(deployment)
    if faults := list(lacking(served, traffic)):
        raise BadInput(faults, source)
    curve = served.curve(traffic)
    curve = curve.take(rising(curve.requests))
    capacity, cluster = float(curve.requests[-1]), deployment.cluster
    middle = len(curve.requests) // 2
    copies = deployment.copies
    return Load(
        utilisation=curve.requests / capacity,
        gpu=curve.watts,
        tpot=curve.tpot,
        ttft=curve.ttft,
        capacity=capacity * copies,
        share=min(1.0, deployment.gpus * copies / cluster.gpus),
        in_flight=float(curve.concurrency[-1]) * copies / cluster.racks,
        residence=float(curve.ttft[middle] + traffic.steps * curve.tpot[middle]),
        output=traffic.output,
    )


def _profile(workload: str | None) -> tuple[Floats, str]:
    """Load of each hour over the busiest's, and where that is from."""
    if workload is not None and mix.is_traffic(workload):
        law = mix.load(workload).arrivals
        if law.profile and math.isclose(len(law.profile) * law.step, HOURS * HOUR):
            hourly = np.asarray(law.profile, float).reshape(HOURS, -1).mean(axis=1)
            return hourly / hourly.max(), f"hours of {workload}"
    return np.asarray(day_law().profile), "a typical day (assumed)"


def _over(ran: Ran, row: Floats) -> float:
    """Energy at the meter times a figure by hour ($/kWh, kilograms per kWh): $, kilograms."""
    hour = ((ran.day.start + ran.times / HOUR) % len(row)).astype(int)
    return float((ran.site * ran.lines[:, 0] * row[hour]).sum() / (1000 * HOUR))


def demand_words(traffic: Traffic) -> str:
    """The requests in words; lengths in tokens."""
    return f"{traffic.input:,.0f} in / {traffic.output:,.0f} out"
