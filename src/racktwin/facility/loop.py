"""The cooling loop in steady state, for any number of hours at once.

Heat goes from junctions over cold plates into coolant, through exchangers into water (or the
hall's air), and through coolers and chillers outdoors; each stage is in closed form. Temperatures
in °C, power and heat in W.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.coolant import coolant
from racktwin.facility.exchanger import approach
from racktwin.facility.hall import Hall
from racktwin.facility.heat import Heat
from racktwin.facility.plant import Outside
from racktwin.facility.rejection import Rejected, reject
from racktwin.facility.weather import Weather

Floats = NDArray[np.float64]
CLOSED = 1e-3  # share of the heat that a balance may be off by
CLOSE = 1e-6  # K
MILD = 30.0  # °C, where water's heat capacity is taken: it varies by 1 % over the range


class Unphysical(Exception):
    """A balance that is not kept: a fault of the program, never of the input."""


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """By hour: temperatures round the loop, °C; power, W.

    junction: of a GPU; supply, back: coolant to and from the racks; primary, primary_back: what
    cools it; air, air_back: of the hall to and from the racks. liquid, handled: brought outdoors
    from liquid and from air. held: share of its power that a GPU keeps below its throttle, 1.
    pumps: of exchangers; water_pumps: of facility water; handlers: of air.
    """

    heat: Heat
    junction: Floats
    supply: Floats
    back: Floats
    primary: Floats
    primary_back: Floats
    air: Floats
    air_back: Floats
    held: Floats
    pumps: Floats
    water_pumps: Floats
    handlers: Floats
    liquid: Rejected | None
    handled: Rejected

    @property
    def outdoors(self) -> tuple[Rejected, ...]:
        """Both ways outdoors, or the only one."""
        return (self.handled,) if self.liquid is None else (self.liquid, self.handled)

    @property
    def fans(self) -> Floats:
        """W of coolers' fans."""
        return np.asarray(sum(each.fans for each in self.outdoors))

    @property
    def compressors(self) -> Floats:
        """W of chillers."""
        return np.asarray(sum(each.compressors for each in self.outdoors))

    @property
    def cooling(self) -> Floats:
        """W of everything that cools."""
        return self.pumps + self.water_pumps + self.handlers + self.fans + self.compressors

    @property
    def water(self) -> Floats:
        """kg/s of water used."""
        return np.asarray(sum(each.evaporated for each in self.outdoors))


def steady(hall: Hall, heat: Heat, weather: Weather) -> Steady:
    """The loop at a heat by hour under a weather; what is lacking shows as temperature."""
    zero = np.zeros(np.broadcast(heat.it, weather.dry).shape)
    heat = Heat(*(row + zero for row in msgspec.structs.astuple(heat)))
    plant = hall.plant
    pumps = hall.pump_power + zero
    liquid, handled_heat, water_pumps = None, heat.air, zero
    away = _approach(hall, heat.liquid + pumps) if hall.loop else zero
    if hall.liquid is not None:
        rate = hall.primary_rate + zero
        pumped = _water_pump(hall.primary_rate, plant.liquid)
        water_pumps = water_pumps + pumped
        wanted = plant.inlet - away
        liquid = reject(
            hall.liquid,
            heat.liquid + pumps + pumped,
            rate,
            wanted,
            weather,
            plant.chiller,
            plant.wet,
        )
    elif hall.loop is not None:
        handled_heat = heat.air + heat.liquid + pumps
    handlers, air, air_back, handled, pumped = _handled(hall, handled_heat, weather)
    water_pumps = water_pumps + pumped
    primary = air if liquid is None else liquid.water
    supply = primary + away if hall.loop else air
    rates = (hall.coolant_rate, hall.primary_rate) if hall.loop else (1.0, 1.0)
    rise = _rise(hall, heat)
    found = Steady(
        heat=heat,
        junction=supply + heat.gpu * rise,
        supply=supply,
        back=supply + heat.liquid / rates[0],
        primary=primary,
        primary_back=primary + (heat.liquid + pumps) / rates[1],
        air=air,
        air_back=air_back,
        held=np.clip(_room(hall, supply) / np.maximum(heat.gpu * rise, CLOSE), 0.0, 1.0),
        pumps=pumps,
        water_pumps=water_pumps,
        handlers=handlers,
        liquid=liquid,
        handled=handled,
    )
    check(found, hall)
    return found


def _approach(hall: Hall, heat: Floats) -> Floats:
    """K between the coolant's supply and what cools it."""
    rates = [np.array(each / hall.units) for each in (hall.coolant_rate, hall.primary_rate)]
    return approach(heat / hall.units, np.array(hall.exchange), *rates)


def _handled(
    hall: Hall, heat: Floats, weather: Weather
) -> tuple[Floats, Floats, Floats, Rejected, float]:
    """Air handlers: W of fans; °C of air to and from the racks; outdoors; W of water pumps."""
    side, limit = hall.plant.air, hall.air.heat
    load = heat * (1 + side.fans) / limit
    fans = side.fans * limit / (1 + side.fans) * load**3
    rate = hall.air.rate + np.zeros_like(heat)
    pumped = _water_pump(hall.air.rate, side.plant)
    coil = side.coil * load
    all_of_it = heat + fans + pumped
    plant = hall.plant
    found = reject(hall.air, all_of_it, rate, side.supply - coil, weather, plant.chiller, plant.wet)
    air = found.water + coil
    return fans, air, air + side.warming + np.zeros_like(heat), found, pumped


def _water_pump(rate: float, outside: Outside) -> float:
    """W of pumps that move water of `rate` W/K."""
    flow = rate / float(coolant("water").capacity(MILD))
    return flow * outside.pump_head / outside.pump_efficiency


def _rise(hall: Hall, heat: Heat) -> Floats:
    """K/W from a GPU's junction to its coolant; 0 where GPUs are cooled by air."""
    if hall.loop is None:
        return np.zeros_like(heat.gpu)
    return hall.loop.resistance(hall.flow, hall.rack) + np.zeros_like(heat.gpu)


def _room(hall: Hall, supply: Floats) -> Floats:
    """K from the coolant to where a GPU throttles."""
    return np.full_like(supply, np.inf) if hall.loop is None else hall.loop.throttle - supply


def check(found: Steady, hall: Hall) -> None:
    """Raise `Unphysical` where heat is lost or made, or a stream crosses the other's temperature.

    First law: heat in and heat out agree to 0.1 %. Second law: each stream is warmer than what
    cools it, at both ends; coolers leave their water no colder than the air they meet.
    """
    heat = found.heat
    entered = heat.it + found.pumps + found.water_pumps + found.handlers
    left = sum(each.cooler + each.chiller for each in found.outdoors)
    if (np.abs(entered - left) > CLOSED * entered).any():
        raise Unphysical(f"{np.abs(entered - left).max():,.0f} W in do not come out")
    if hall.loop is not None:
        into = found.back + found.pumps / hall.coolant_rate  # pumps sit before the exchanger
        if (found.supply < found.primary - CLOSE).any() or (
            into < found.primary_back - CLOSE
        ).any():
            raise Unphysical("coolant leaves an exchanger colder than what cools it")
    for each in found.outdoors:
        rate = (each.cooler + each.chiller) / np.maximum(each.back - each.water, CLOSE)
        cooled = each.back - each.cooler / rate
        if ((each.cooler > 0) & (cooled < each.sink - CLOSE)).any():
            raise Unphysical("a cooler makes water colder than the air it meets")
