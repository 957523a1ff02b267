"""One rack: hosts, NVLink switches and power shelves."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Count, Number
from racktwin.hardware.host import Host
from racktwin.hardware.stage import Curve
from racktwin.hardware.switch import Switch
from racktwin.units import Fraction, Joules, Watts


class Rack(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts of one kind and what they share.

    switch, switches: NVLink switch ASICs that join the whole rack into one domain, if any;
    trays: chassis that hold them.
    shelves, shelf_power: power shelves and W of one; conversion: their efficiency under load.
    shelf_curve: efficiency of a shelf over its load, where known; bus_loss: share lost on the bus
        bar at half of the shelves' power, growing with the current (fraction).
    storage: J in the shelves' capacitors between their highest and lowest voltage in use.
    quoted_power: W others state, for comparison; liquid: share of heat that leaves in liquid.
    """

    name: str = ""
    title: str
    host: Host
    hosts: Count
    switch: Switch | None = None
    switches: Number = 0
    trays: Number = 0
    shelves: Number = 0
    shelf_power: Watts = Watts(0.0)
    conversion: Fraction
    shelf_curve: Curve | None = None
    bus_loss: Fraction = Fraction(0.0)
    storage: Joules = Joules(0.0)
    quoted_power: Watts
    liquid: Fraction

    @property
    def gpus(self) -> int:
        """GPUs in the rack."""
        return self.hosts * self.host.gpus

    @property
    def domain(self) -> int:
        """GPUs that reach one another over NVLink."""
        return self.gpus if self.switches else self.host.gpus

    @property
    def switch_power(self) -> float:
        """W of the rack's NVLink switches."""
        return self.switches * self.switch.power if self.switch else 0.0

    def power(self, hosts: int | None = None) -> float:
        """W drawn at the rack's inlet with `hosts` hosts (all of them) at their limit."""
        count = self.hosts if hosts is None else hosts
        return (count * self.host.power + self.switch_power) / self.conversion
