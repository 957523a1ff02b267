"""The cooling plant of a hall as it is described: exchangers, coolers, chillers, air handlers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.catalog.bounds import Count, Number
from racktwin.finding import BadInput, Finding
from racktwin.units import Celsius, Flow, Fraction, Kelvins, Pressure, Watts

Cooler = Literal["dry", "adiabatic", "tower"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A unit between the racks' coolant and the hall's water (a CDU) or air, with its pump.

    capacity: W at approach (K: coolant supply less what cools it), flow (m³/s of coolant) and
    warming (K, of what cools it); head, head_least: Pa left for the racks at flow and flow_most;
    power, power_most: W of the pump there. units: how many, 0 for as many as are needed; spare:
    more than those.
    """

    to: Literal["water", "air"]
    capacity: Watts
    approach: Kelvins
    flow: Flow
    head: Pressure
    power: Watts
    flow_most: Flow
    head_least: Pressure
    power_most: Watts
    warming: Kelvins
    units: Number = 0
    spare: Number = 0


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """Coolers and chillers that bring heat outdoors, sized for the heat at the limit.

    approach: K from the air (dry bulb, or wet bulb of a tower) to the water made; range: K that the
    water cools by; fans: fan power over heat; fan_power: exponent of conductance over speed, 1.
    chiller: share of the heat that chillers can take over; units, chillers: that share it.
    """

    cooler: Cooler
    approach: Kelvins
    range: Kelvins
    fans: Fraction
    fan_power: float
    units: Count
    spare: Number
    chiller: float
    chillers: Number
    pump_head: Pressure
    pump_efficiency: Fraction


class AirSide(msgspec.Struct, frozen=True, kw_only=True):
    """Air handlers. supply: °C of the hall; coil: K from water to air at full load; warming: K.

    fans: fan power over heat at full load.
    """

    supply: Celsius
    supply_most: Celsius
    coil: Kelvins
    warming: Kelvins
    fans: Fraction
    plant: Outside


class Chiller(msgspec.Struct, frozen=True, kw_only=True):
    """Coefficient of performance: a share of the ideal one, within bounds, 1; lift: K."""

    carnot: Fraction
    lift: Kelvins
    cop_least: float
    cop_most: float


class Wet(msgspec.Struct, frozen=True, kw_only=True):
    """Evaporation. pad: share of the way to the wet bulb; air_warming: K; latent: kJ/kg of water.

    cycles: of concentration, 1.
    """

    pad: Fraction
    air_warming: Kelvins
    cycles: float
    latent: float


class Plant(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. inlet: °C of the racks' coolant; volume: litres of facility water for each kW."""

    name: str = ""
    title: str
    inlet: Celsius
    exchange: Exchange
    liquid: Outside
    air: AirSide
    chiller: Chiller
    wet: Wet
    volume: float


def plant(name: str | Path, inlet: float | None = None) -> Plant:
    """A plant of the catalog or of a file, with another inlet in °C; BadInput with every fault."""
    entry = catalog.load("plants", name)
    found = msgspec.structs.replace(entry.build(Plant, ("name",)), name=entry.name)
    faults: list[Finding] = []
    for key, outside in (("liquid", found.liquid), ("air.plant", found.air.plant)):
        _positive(f"{key}.approach", outside.approach, entry, faults)
        _positive(f"{key}.range", outside.range, entry, faults)
        _positive(f"{key}.fan_power", outside.fan_power, entry, faults)
        if outside.chiller < 0 or (outside.chiller and not outside.chillers):
            text = f"{outside.chiller:g} of the heat needs chillers above 0"
            faults.append(Finding(f"{key}.chiller", text, _line(entry, f"{key}.chiller")))
    for name_ in ("capacity", "approach", "flow", "head", "warming"):
        key = f"exchange.{name_}"
        _positive(key, float(getattr(found.exchange, name_)), entry, faults)
    for key, value in (("wet.latent", found.wet.latent), ("volume", found.volume)):
        _positive(key, value, entry, faults)
    if found.wet.cycles <= 1:
        text = f"expected more than 1, found {found.wet.cycles:g}"
        faults.append(Finding("wet.cycles", text, _line(entry, "wet.cycles")))
    if found.exchange.flow_most <= found.exchange.flow:
        text = f"expected more than the flow of {found.exchange.flow}"
        faults.append(Finding("exchange.flow_most", text, _line(entry, "exchange.flow_most")))
    if faults:
        raise BadInput(faults, entry.node.file)
    return found if inlet is None else msgspec.structs.replace(found, inlet=Celsius(inlet))


def _positive(key: str, value: float, entry: catalog.Entry, faults: list[Finding]) -> None:
    """Note a value (any unit) that is not above 0."""
    if not value > 0:
        text = f"expected more than 0, found {value:g}"
        faults.append(Finding(key, text, _line(entry, key)))


def _line(entry: catalog.Entry, key: str) -> int | None:
    node = entry.node
    for word in key.split("."):
        inner = node.get(word)
        if inner is None:
            return None
        node = inner
    return node.line if node.file == entry.node.file else None
