"""Seconds after a loss of cooling: four temperatures of a hall as ordinary differential equations.

A GPU, the coolant in the racks, the coolant to the racks, the facility water. Temperatures in °C,
heat in W, capacity rates in W/K.
"""

from __future__ import annotations

import functools
import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.coolant import coolant
from racktwin.facility.exchanger import effectiveness
from racktwin.facility.hall import Hall, Lost, hall
from racktwin.facility.loop import steady
from racktwin.facility.weather import Weather
from racktwin.finding import BadInput, Finding, unknown
from racktwin.units import Fraction, Seconds

Floats = NDArray[np.float64]
STEP = 0.1  # s, a hundredth of the fastest time constant
LONGEST = 1800.0  # s looked at
BEYOND = 15.0  # K above the throttle, where GPUs no longer draw what they did
ELEMENTS = ("pumps", "exchangers", "coolers", "chillers")


class FaultLaw(msgspec.Struct, frozen=True, kw_only=True):
    """coast: s in which the flow falls by a factor of e; still: share of it that stays."""

    name: str
    title: str
    coast: Seconds
    still: Fraction


@functools.cache
def fault_law() -> FaultLaw:
    """As the catalog has it."""
    return catalog.load("defaults", "fault").build(FaultLaw)


class Transient(msgspec.Struct, frozen=True, kw_only=True):
    """By step of `times`, s: temperatures, °C, and what is stored and taken, J.

    reached: s until the junction's target, its throttle, the coolant's limits; None: not reached.
    balance: J in less J stored and J out, over J in, 1.
    """

    hall: Hall
    lost: str
    times: Floats
    junction: Floats
    back: Floats
    supply: Floats
    water: Floats
    reached: dict[str, float | None]
    balance: float


def read_lost(text: str, made: Hall) -> tuple[Lost, bool, str]:
    """'pumps', 'exchangers:2', 'chillers' (all), commas between; whether all pumps stand still."""
    side = made.plant.liquid if made.liquid else made.plant.air.plant
    counts = {
        "exchangers": made.units,
        "coolers": side.units + side.spare,
        "chillers": side.chillers if side.chiller else 0,
    }
    given, still, findings = {}, False, []
    for word in filter(None, (each.strip() for each in text.split(","))):
        name, _, count = word.partition(":")
        if name not in ELEMENTS:
            findings.append(unknown("--lose", name[:40], ELEMENTS))
        elif name in given or (name == "pumps" and still):
            findings.append(Finding("--lose", f"{name!r} is given twice"))
        elif name == "pumps":
            still = True
            if count:
                findings.append(Finding("--lose", f"{word[:40]!r}: pumps are lost together"))
        elif not counts[name]:
            findings.append(Finding("--lose", f"{word[:40]!r}: the plant has no {name}"))
        elif count and not (count.isdecimal() and 0 < int(count) <= counts[name]):
            said = f"{word[:40]!r}: expected 1 to {counts[name]} of {name}"
            findings.append(Finding("--lose", said))
        else:
            given[name] = int(count) if count else counts[name]
    if not (given or still or findings):
        findings.append(Finding("--lose", f"expected one of {', '.join(ELEMENTS)}"))
    if made.loop is None:
        findings.append(Finding("CLUSTER", "its racks are cooled by air: no coolant to look at"))
    if given.get("exchangers") == made.units:
        given["exchangers"], still = made.units - 1, True
    if findings:
        raise BadInput(findings, "power lose")
    return Lost(**given), still, text


def transient(made: Hall, lost: str, weather: Weather, load: float = 1.0) -> Transient:
    """From the steady state of one hour of weather on, with `lost` lost at once; load: 0..1."""
    broken, still, words = read_lost(lost, made)
    after = hall(made.cluster, made.plant, broken)
    assert made.loop is not None
    heat = made.chain.heat(np.array([load]))
    before = steady(made, heat, weather)
    state = np.array([float(each[0]) for each in
                      (before.junction, before.back, before.supply, before.primary)])  # fmt: skip
    gpu, liquid, gpus = float(heat.gpu[0]), float(heat.liquid[0]), made.cluster.gpus
    capacity = _capacities(made)
    sink = float((before.liquid or before.handled).sink[0])
    wanted = float(before.primary[0])
    still_film = float(before.junction[0] - before.back[0]) / gpu - made.loop.conduction
    rows, out = [state.copy()], 0.0
    start = float(capacity @ state)
    for step in range(int(LONGEST / STEP)):
        if state[0] > made.loop.throttle + BEYOND:
            break
        flow = after.flow / made.flow
        if still:
            law = fault_law()
            flow = max(law.still, flow * math.exp(-step * STEP / law.coast))
        passed, taken = _flows(made, after, state, flow, liquid, sink, wanted)
        resistance = made.loop.conduction + still_film * flow**-made.loop.film_power
        into = (state[0] - state[1]) / resistance  # of one GPU
        carried = flow * made.coolant_rate * (state[1] - state[2])
        change = np.array(
            [
                gpus * (gpu - into),
                gpus * into + liquid - gpus * gpu - carried,
                carried - passed,
                passed - taken,
            ]
        )
        state = state + STEP * change / capacity
        out += STEP * taken
        rows.append(state.copy())
    stored = float(capacity @ state) - start
    times = np.asarray(np.arange(len(rows)) * STEP, dtype=np.float64)
    came = liquid * float(times[-1])
    found = np.array(rows).T
    return Transient(
        hall=made,
        lost=words,
        times=times,
        junction=found[0],
        back=found[1],
        supply=found[2],
        water=found[3],
        reached=_reached(made, times, found),
        balance=(came - stored - out) / came,
    )


def _capacities(made: Hall) -> Floats:
    """J/K of all GPUs, of the coolant in racks and to them, of the facility water."""
    assert made.loop is not None
    litre = float(made.loop.liquid.capacity(float(made.plant.inlet))) / 1e3
    coolants = made.loop.volume * litre * made.racks / 2
    limit = float(made.limit.liquid[0]) / 1e3
    water = float(coolant("water").capacity(float(made.plant.inlet))) / 1e3
    return np.array(
        [
            made.loop.die_heat * made.cluster.gpus,
            coolants,
            coolants,
            made.plant.volume * limit * water,
        ]
    )


def _flows(
    made: Hall,
    after: Hall,
    state: Floats,
    flow: float,
    liquid: float,
    sink: float,
    wanted: float,
) -> tuple[float, float]:
    """W from coolant to water, and W out of the water; flow: share of the steady one."""
    hot = np.array(flow * made.coolant_rate / after.units)
    cold = np.array(made.primary_rate / made.units)
    share = float(effectiveness(np.array(after.exchange), hot, cold)) * min(float(hot), float(cold))
    passed = after.units * share * (state[1] - state[3])
    if after.liquid is None:
        return passed, passed
    rate = made.primary_rate
    back = state[3] + passed / rate
    most = rate * -math.expm1(-after.liquid.conductance / rate) * max(0.0, back - sink)
    needed = passed + max(0.0, state[3] - wanted) * rate
    if state[3] <= wanted:
        needed = min(passed, liquid)
    return passed, min(needed, most + after.liquid.limit)


def _reached(made: Hall, times: Floats, found: Floats) -> dict[str, float | None]:
    loop = made.loop
    assert loop is not None
    limits = {
        "junction_target": (found[0], float(loop.target)),
        "junction_throttle": (found[0], float(loop.throttle)),
        "return_limit": (found[1], float(loop.return_most)),
        "inlet_limit": (found[2], float(loop.inlet_most)),
    }
    first = {name: np.flatnonzero(row >= most) for name, (row, most) in limits.items()}
    return {name: float(times[at[0]]) if len(at) else None for name, at in first.items()}
