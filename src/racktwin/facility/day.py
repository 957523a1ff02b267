"""A hall that serves: load, power, temperature, throttle and latency in a closed loop."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.day_state import (
    FIGURES,
    LINES,
    Hours,
    Ints,
    Rule,
    Sums,
    Words,
    bins_of,
    quantile,
    sums,
)
from racktwin.facility.hall import Hall
from racktwin.facility.heat import Heat
from racktwin.facility.loop import Steady, steady
from racktwin.facility.rejection import Sized
from racktwin.facility.serving_table import LOADS, Load, ServingTable, serving_table
from racktwin.facility.weather import Weather
from racktwin.finding import BadInput, Finding
from racktwin.units import Watts

Floats = NDArray[np.float64]
HOUR = 3600
CHUNK = 86_400  # steps between looks at whoever watches
WATER = 4186.0  # J/kg/K
PULL = 60.0  # s in which controls bring the water back to where it is wanted


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """A run to make. load: share of the capacity by hour, one more than hours; start: hour of year.

    cap: W of a rack, None for none.
    """

    hall: Hall
    serving: Load
    weather: Weather
    load: Floats
    start: int
    seed: int = 0
    cap: float | None = None

    @property
    def seconds(self) -> int:
        """Length, s."""
        return (len(self.load) - 1) * HOUR


class State(msgspec.Struct):
    """What a run carries on: arrays the kernel changes. racks: noise, queue, °C; hall: °C."""

    table: ServingTable
    bins: Ints
    rule: Rule
    hours: Hours
    seeds: Words
    racks: Floats
    hall: Floats
    sums: Sums


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What came out. lines: by point; steady: the plant at those points; site: W at the meter.

    seconds: between points, s.
    """

    day: Day
    lines: Floats
    seconds: float
    it: Floats
    site: Floats
    plant: Steady
    tpot: Floats
    ttft: Floats

    @property
    def times(self) -> Floats:
        """Middle of each point, s."""
        return np.asarray((np.arange(len(self.lines)) + 0.5) * self.seconds)

    @property
    def requests(self) -> float:
        """Served, count."""
        mean = float(self.lines[:, 7].sum()) / self.day.hall.racks
        return mean * self.day.serving.capacity

    @property
    def asked(self) -> float:
        """Arrived, count of requests."""
        return float(self.lines[:, 6].sum()) / self.day.hall.racks * self.day.serving.capacity

    @property
    def throttled(self) -> float:
        """Seconds in which the coolant was too warm for full clocks, s."""
        return float(self.lines[:, 9].sum())

    @property
    def it_energy(self) -> float:
        """Of IT, J."""
        return float((self.it * self.lines[:, 0]).sum())

    @property
    def energy(self) -> float:
        """At the meter, J."""
        return float((self.site * self.lines[:, 0]).sum())

    @property
    def pue(self) -> float:
        """Facility energy over IT energy, 1."""
        return self.energy / self.it_energy

    @property
    def litres(self) -> float:
        """Of water used, litres."""
        return float((self.plant.water * self.lines[:, 0]).sum())

    @property
    def tokens(self) -> float:
        """Generated, count of tokens."""
        return self.requests * self.day.serving.output

    def latency(self, name: str, level: float) -> float:
        """A quantile of TPOT or TTFT over requests, s; level: share, 0..1."""
        return quantile(getattr(self, name), level)


def prepared(day: Day) -> State:
    """Tables, constants and first state of a run; BadInput for a cap nobody can keep."""
    hall, chip = day.hall, day.hall.cluster.chip
    racks = hall.racks
    table = serving_table(day.serving, hall.chain, racks, float(chip.idle_power), float(chip.tdp))
    rule = _rule(day, table)
    hours = _hours(day)
    seeds = np.random.SeedSequence(day.seed).generate_state(racks, np.uint64) | np.uint64(1)
    state = np.zeros((racks, 3))
    state[:, 2] = hall.plant.inlet
    return State(
        table=table,
        bins=np.ascontiguousarray(bins_of(table.cells[FIGURES:]).T),
        rule=rule,
        hours=hours,
        seeds=seeds,
        racks=state,
        hall=np.array([float(hall.plant.inlet), float(hall.plant.inlet)]),
        sums=sums(),
    )


def run(day: Day, oracle: bool = False) -> Served:
    """The whole day in the compiled kernel, or in the plain oracle."""
    from racktwin.facility.day_kernel import day as kernel
    from racktwin.facility.day_oracle import day as plain

    state = prepared(day)
    step = plain if oracle else kernel
    row = np.zeros((state.table.cells.shape[1], FIGURES + 1))
    for start in range(0, day.seconds, CHUNK):
        step(
            state.table.cells,
            state.bins,
            state.rule,
            state.hours,
            state.seeds,
            state.racks,
            state.hall,
            row,
            state.sums,
            start,
            min(CHUNK, day.seconds - start),
        )
    return _served(day, state)


def _served(day: Day, state: State) -> Served:
    used = state.sums.lines[:, 0] > 0
    lines = state.sums.lines[used].copy()
    for column in (1, 2, 3, 4):
        lines[:, column] /= lines[:, 0]
    hall = day.hall
    chain, racks = hall.chain, lines[:, 1]
    share = np.interp(racks, chain.racks, chain.load)
    whole = chain.heat(share)
    liquid = chain.liquid * racks
    it = racks + float(chain.fabric[-1])
    heat = Heat(it, liquid, it - liquid, lines[:, 2], whole.losses)
    plant = steady(hall, heat, _weather(day, len(lines), state.rule.bucket))
    return Served(
        day=day,
        lines=lines,
        seconds=float(state.rule.bucket),
        it=it,
        site=it + whole.losses + plant.cooling,
        plant=plant,
        tpot=state.sums.tpot,
        ttft=state.sums.ttft,
    )


def _rule(day: Day, table: ServingTable) -> Rule:
    hall, load = day.hall, day.serving
    loop, plant = hall.loop, hall.plant
    side: Sized = hall.liquid or hall.air
    rate = hall.primary_rate if hall.liquid else side.rate
    most = rate * -math.expm1(-side.conductance / rate)
    resistance = float(loop.resistance(hall.flow, hall.rack)) if loop else 1e-9
    limit = float(hall.limit.liquid[0] if hall.liquid else hall.limit.it[0])
    away = 0.0
    inlet = float(plant.inlet)
    if hall.liquid is not None:
        away = _approach(hall)
    chip = loop.die_heat * resistance if loop else 1.0
    flush = loop.volume / 1e3 / hall.flow if loop else 1.0
    noise = 1 / math.sqrt(max(1.0, load.in_flight))
    keep = math.exp(-1 / max(1.0, load.residence))
    return Rule(
        cap=_cap(day, table),
        limit_least=float(table.limits[0]),
        limit_most=float(table.limits[-1]),
        load_most=float(LOADS[-1]),
        throttle=float(loop.throttle) if loop else 1e9,
        inlet=inlet,
        resistance=resistance,
        keep=keep,
        fresh=math.sqrt(12 * (1 - keep**2)),  # an even draw has a variance of 1/12
        noise=noise,
        warm=-math.expm1(-1 / chip),
        flush=-math.expm1(-1 / flush),
        liquid=hall.chain.liquid if hall.liquid else 1.0,
        pumps=hall.pump_power,
        rate=rate,
        most=most,
        chiller=side.limit,
        approach=away / limit,
        pull=plant.volume * limit / 1e3 * WATER / PULL,
        water=plant.volume * limit / 1e3 * WATER,
        bucket=max(1, -(-day.seconds // LINES)),
    )


def _approach(hall: Hall) -> float:
    """K between coolant and water at the limit."""
    found = steady(hall, hall.limit, _mild())
    return float((found.supply - found.primary)[0])


def _mild() -> Weather:
    from racktwin.facility.weather import steady as hour

    return hour(10.0, 0.5)


def _cap(day: Day, table: ServingTable) -> float:
    """W of a GPU that a rack's cap leaves it."""
    chain, racks = day.hall.chain, day.hall.racks
    tdp = float(chain.gpu[-1])
    if day.cap is None:
        return tdp
    per_rack = chain.racks / racks
    least = float(table.cells[2].min())
    if day.cap < least:
        text = (
            f"{Watts(day.cap)} is below the {Watts(least).text(3)} that a rack draws with its "
            "GPUs idle or at their lowest clock"
        )
        raise BadInput([Finding("--cap", text)], "power simulate")
    return float(np.interp(day.cap, per_rack, chain.gpu))


def _hours(day: Day) -> Hours:
    outside = day.hall.plant.liquid if day.hall.liquid else day.hall.plant.air.plant
    air, wet = day.weather, day.hall.plant.wet
    sink = {
        "dry": air.dry,
        "tower": air.wet,
        "adiabatic": air.dry - wet.pad * (air.dry - air.wet),
    }[outside.cooler]
    at = (day.start + np.arange(len(day.load))) % len(air)
    return Hours(np.ascontiguousarray(day.load), np.ascontiguousarray(sink[at]))


def _weather(day: Day, points: int, seconds: int) -> Weather:
    """The weather at every point of the time lines."""
    air = day.weather
    at = day.start + (np.arange(points) + 0.5) * seconds / HOUR
    hours = np.arange(len(air) + 1)

    def read(row: Floats) -> Floats:
        around = np.concatenate([row, row[:1]])
        return np.asarray(np.interp(at % len(air), hours, around))

    return Weather(
        title=air.title,
        origin=air.origin,
        dry=read(air.dry),
        wet=read(air.wet),
        pressure=read(air.pressure),
        month=air.month[(at.astype(int)) % len(air)],
    )
