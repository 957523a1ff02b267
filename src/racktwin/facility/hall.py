"""A hall: the racks of a cluster with a cooling plant sized for their limit."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.facility.cold_loop import ColdLoop, cold_loop
from racktwin.facility.coolant import coolant
from racktwin.facility.exchanger import conductance
from racktwin.facility.heat import Draws, Heat, draws
from racktwin.facility.plant import Plant
from racktwin.facility.pump import Pump, pump
from racktwin.facility.rejection import Sized, sized
from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster
from racktwin.units import Flow, Pressure

MOST_UNITS = 4096


class Lost(msgspec.Struct, frozen=True):
    """What does not work, counts; liquid and air have coolers and chillers of their own."""

    exchangers: int = 0
    coolers: int = 0
    chillers: int = 0


class Hall(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes. chain: its power by load; limit: the heat at the limit, W; rack: W of one rack there.

    flow: m³/s through one rack; units: exchangers that work; needed: of them needed;
    pump: of one; exchange: W/K of one at `coolant_rate` and `primary_rate`, W/K.
    liquid, air: what brings the heat of liquid and of air outdoors.
    """

    cluster: Cluster
    plant: Plant
    loop: ColdLoop | None
    chain: Draws
    limit: Heat
    rack: float
    flow: float
    asked: float
    units: int
    needed: int
    pump: Pump
    exchange: float
    coolant_rate: float
    primary_rate: float
    liquid: Sized | None
    air: Sized

    @property
    def racks(self) -> int:
        """Racks with liquid."""
        return self.cluster.racks

    @property
    def drop(self) -> float:
        """Pa over a rack at the flow."""
        return self.loop.drop_at(self.flow, self.rack) if self.loop else 0.0

    @property
    def pump_power(self) -> float:
        """W of all exchangers' pumps."""
        if not self.loop or not self.units:
            return 0.0
        each = self.flow * self.racks / self.units
        return self.units * self.pump.power(each, self.drop)


def hall(cluster: Cluster, plant: Plant, lost: Lost | None = None) -> Hall:
    """A hall whose plant is sized for the cluster at its limit, less what is lost."""
    lost = lost or Lost()
    chain = draws(cluster)
    limit = chain.heat(np.ones(1))
    rack = float(chain.racks[-1]) / cluster.hosts * cluster.rack.hosts
    loop = cold_loop(cluster.rack.name) if cluster.rack.liquid else None
    water = plant.exchange.to == "water"
    in_air = float(limit.air[0]) + (0.0 if water else float(limit.liquid[0]))
    outside = sized(plant.air.plant, in_air * (1 + plant.air.fans), lost.coolers, lost.chillers)
    asked = loop.flow(plant.inlet, rack) if loop else 0.0
    needed, flow, working = 0, 0.0, 0
    liquid = float(limit.liquid[0])
    if loop:
        loop.check_inlet(plant.inlet)
        needed = plant.exchange.units or _units(cluster, plant, loop, rack, liquid)
        working = max(0, needed + plant.exchange.spare - lost.exchangers)
        if not working:
            raise BadInput([Finding("--lose", "no exchanger is left: see the transient")], "power")
        flow = _flow(plant, loop, asked, rack, working / cluster.racks)
    unit = plant.exchange
    own = coolant(loop.coolant if loop else "water").capacity(plant.inlet)
    rated = float(unit.flow * own)
    primary = unit.capacity / unit.warming
    share = unit.capacity / min(rated, primary) / (unit.capacity / rated + unit.approach)
    if not share < 1:
        text = f"{unit.approach} at {unit.capacity} and {unit.flow} is more than a unit can reach"
        raise BadInput([Finding("exchange.approach", text)], plant.name)
    return Hall(
        cluster=cluster,
        plant=plant,
        loop=loop,
        chain=chain,
        limit=limit,
        rack=rack,
        flow=flow,
        asked=asked,
        units=working,
        needed=needed,
        pump=pump(unit),
        exchange=conductance(share, rated, primary),
        coolant_rate=flow * cluster.racks * float(own),
        primary_rate=primary / rated * flow * cluster.racks * float(own),
        liquid=sized(plant.liquid, liquid, lost.coolers, lost.chillers) if loop and water else None,
        air=outside,
    )


def _units(cluster: Cluster, plant: Plant, loop: ColdLoop, rack: float, liquid: float) -> int:
    """Exchangers that carry the heat in W, the flow, and the racks' pressure drop."""
    unit, own = plant.exchange, pump(plant.exchange)
    flow = loop.flow(plant.inlet, rack)
    drop = loop.drop_at(flow, rack)
    if drop >= own.shut:
        text = (
            f"the pumps give {Pressure(own.shut)} at no flow at all; a rack takes {Pressure(drop)} "
            f"at {Flow(flow).text(3)}: lower the inlet"
        )
        raise BadInput([Finding("exchange.head", text)], plant.name)
    least = cluster.racks if unit.to == "air" else 1
    whole = flow * cluster.racks
    by_head = math.sqrt((own.shut - drop) / own.slope)
    each = min(unit.flow_most, by_head)
    return min(MOST_UNITS, max(least, math.ceil(liquid / unit.capacity), math.ceil(whole / each)))


def _flow(plant: Plant, loop: ColdLoop, asked: float, rack: float, units: float) -> float:
    """m³/s through a rack: what it asks for, or what `units` pumps per rack (count) deliver."""
    if not units:
        return 0.0
    resistance = loop.drop_at(1.0, rack) * units**2  # of a pump's share of the racks, parallel
    return min(asked, pump(plant.exchange).delivers(resistance) * units)
