"""Heat brought outdoors: coolers first, chillers for what they cannot take.

The water from the hall passes the coolers and then the chillers, so each takes what the one before
leaves. Temperatures in °C, heat and power in W, capacity rates and conductances in W/K.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.air import KELVIN
from racktwin.facility.plant import Chiller, Outside, Wet
from racktwin.facility.weather import Weather

Floats = NDArray[np.float64]
NONE = 1e-9  # share of the coolers that counts as none


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """By hour. water, back: °C of the water to and from the hall; sink: °C of the air it meets.

    cooler, chiller: W each takes; lacking: W of heat that nothing takes at the wanted temperature;
    fans, compressors: W they draw; evaporated: kg/s of water used, drained water included.
    """

    water: Floats
    back: Floats
    sink: Floats
    cooler: Floats
    chiller: Floats
    lacking: Floats
    fans: Floats
    compressors: Floats
    evaporated: Floats


class Sized(msgspec.Struct, frozen=True):
    """Coolers and chillers for a heat: conductance at full fan speed, W/K; limit of chillers, W.

    heat: W sized for; rate: W/K of the water. Spare coolers work along.
    """

    outside: Outside
    heat: float
    rate: float
    conductance: float
    limit: float


def sized(outside: Outside, heat: float, lost: int = 0, chillers_lost: int = 0) -> Sized:
    """The plant for a heat in W, with some coolers and chillers lost."""
    rate = heat / outside.range
    share = outside.range / (outside.range + outside.approach)
    working = max(0, outside.units + outside.spare - lost) / outside.units
    left = max(0, outside.chillers - chillers_lost) / max(1, outside.chillers)
    conductance = -rate * float(np.log(1 - share)) * max(working, NONE)
    return Sized(outside, heat, rate, conductance, outside.chiller * heat * left)


def reject(
    plant: Sized,
    heat: Floats,
    rate: Floats,
    wanted: Floats,
    air: Weather,
    chiller: Chiller,
    wet: Wet,
) -> Rejected:
    """Bring `heat` W outdoors from water at `rate` W/K; the hall gets `wanted` °C if possible."""
    outside = plant.outside
    sink = air.wet if outside.cooler == "tower" else air.dry
    most = rate * -np.expm1(-plant.conductance / rate)  # W for each kelvin above the air
    back = wanted + heat / rate
    if outside.cooler == "adiabatic":  # the air is wetted only where dry air does not do
        wetted = most * (back - air.dry) < heat
        sink = np.where(wetted, air.dry - wet.pad * (air.dry - air.wet), air.dry)
    by_cooler = np.clip(most * (back - sink), 0.0, heat)
    by_chiller = np.minimum(heat - by_cooler, plant.limit)
    lacking = heat - by_cooler - by_chiller
    short = lacking > NONE * heat
    back = np.where(short, sink + (heat - by_chiller) / most, back)
    by_cooler = heat - by_chiller
    water = back - heat / rate
    return Rejected(
        water=water,
        back=back,
        sink=sink,
        cooler=by_cooler,
        chiller=by_chiller,
        lacking=lacking,
        fans=_fans(plant, by_cooler, rate, back - sink),
        compressors=by_chiller / cop(water, sink, chiller),
        evaporated=_evaporated(outside, by_cooler, by_chiller, sink, air, wet),
    )


def cop(water: Floats, sink: Floats, chiller: Chiller) -> Floats:
    """Heat over work of a chiller, 1: a share of Carnot's between water and sink, both °C."""
    lift = np.maximum(sink + chiller.lift - water, 0.1)
    ideal = (water + KELVIN) / lift
    return np.clip(chiller.carnot * ideal, chiller.cop_least, chiller.cop_most)


def _fans(plant: Sized, heat: Floats, rate: Floats, above: Floats) -> Floats:
    """W of cooler fans: as slow as the heat allows; above: K from the air to the warm water."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(heat > 0, heat / (rate * above), 0.0)
        needed = -rate * np.log1p(-np.minimum(share, 1 - 1e-12))
        speed = (needed / plant.conductance) ** (1 / plant.outside.fan_power)
    working = (plant.outside.units + plant.outside.spare) / plant.outside.units
    most = plant.outside.fans * plant.heat * working
    return np.asarray(most * np.nan_to_num(np.minimum(speed, 1.0)) ** 3)


def _evaporated(
    outside: Outside,
    by_cooler: Floats,
    by_chiller: Floats,
    sink: Floats,
    air: Weather,
    wet: Wet,
) -> Floats:
    """kg/s of water: all the heat of a tower, what cools the air of a wetted cooler."""
    drained = wet.cycles / (wet.cycles - 1)
    latent = wet.latent * 1e3
    if outside.cooler == "tower":
        return np.asarray((by_cooler + by_chiller) / latent * drained)
    if outside.cooler == "adiabatic":
        cooled = (air.dry - sink) / wet.air_warming
        return np.asarray(by_cooler * cooled / latent * drained)
    return np.zeros_like(by_cooler)
