"""Pumps with a speed drive: two points of a curve at full speed, and the affinity laws."""

from __future__ import annotations

import math

import msgspec

from racktwin.facility.plant import Exchange


class Pump(msgspec.Struct, frozen=True):
    """At full speed the head is `shut` less `slope` times flow squared: Pa, Pa/(m³/s)².

    base, growth: W, and W for each m³/s; most: greatest flow, m³/s.
    """

    shut: float
    slope: float
    base: float
    growth: float
    most: float

    def head(self, flow: float) -> float:
        """Pa at full speed at a flow in m³/s."""
        return self.shut - self.slope * flow**2

    def speed(self, flow: float, drop: float) -> float:
        """Share of full speed for a flow in m³/s against a drop in Pa; above 1: it cannot."""
        return math.sqrt((drop + self.slope * flow**2) / self.shut)

    def power(self, flow: float, drop: float) -> float:
        """W for a flow in m³/s against a drop in Pa: the cube of the speed."""
        speed = self.speed(flow, drop)
        return speed**3 * (self.base + self.growth * flow / speed) if flow > 0 else 0.0

    def delivers(self, resistance: float) -> float:
        """m³/s at full speed against a drop of `resistance` times flow squared, Pa/(m³/s)²."""
        return min(self.most, math.sqrt(self.shut / (self.slope + resistance)))


def pump(unit: Exchange) -> Pump:
    """The pump of an exchanger through the two points its maker gives."""
    slope = (unit.head - unit.head_least) / (unit.flow_most**2 - unit.flow**2)
    growth = (unit.power_most - unit.power) / (unit.flow_most - unit.flow)
    return Pump(
        shut=unit.head + slope * unit.flow**2,
        slope=slope,
        base=max(0.0, unit.power - growth * unit.flow),
        growth=growth,
        most=unit.flow_most,
    )
