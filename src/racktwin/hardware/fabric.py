"""The network between NVLink domains: one or more fat trees of one kind of switch."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from racktwin.catalog.bounds import Count, Ratio
from racktwin.hardware.switch import Switch
from racktwin.hardware.tree import Tree, single, split, three_tiers, two_tiers
from racktwin.units import Fraction, Seconds

Layout = Literal["single", "aligned", "rails"]


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """How hosts are wired; oversubscription: bandwidth down to hosts over bandwidth up, at a leaf.

    layout: 'single' fills leaves host by host; 'aligned' gives a leaf one NIC position of many
    hosts, below common spines; 'rails' makes a network of each position, joined by NVLink only.
    rails: NIC positions told apart, by default all NICs of a host.
    planes: networks that share a NIC's bandwidth, each with switches of its own.
    leaf_down, spines: ports and switches (per network) as built, where they are known.
    sharp: engines let its switches reduce (SHARP), where they can.
    nic_efficiency: share of the NIC's line rate that was measured there, None where nobody did.
    cable_delay: s along one cable, None for the catalog's.
    """

    switch: Switch
    oversubscription: Ratio = 1.0
    layout: Layout = "single"
    rails: Count | None = None
    planes: Count = 1
    leaf_down: Count | None = None
    spines: Count | None = None
    sharp: bool = False
    nic_efficiency: Fraction | None = None
    cable_delay: Seconds | None = None

    def rail_count(self, nics: int) -> int:
        """NIC positions that are told apart, of hosts with `nics` NICs."""
        return 1 if self.layout == "single" else self.rails or nics

    def networks(self, nics: int) -> int:
        """Trees that share nothing: rails where they are disjoint, times planes."""
        return (self.rail_count(nics) if self.layout == "rails" else 1) * self.planes

    def ports(self) -> tuple[int, int] | None:
        """Ports of a leaf down and up; None where the ratio cannot be built."""
        if self.leaf_down is None:
            return split(self.switch.ports, self.oversubscription)
        up = self.leaf_down / self.oversubscription
        return (self.leaf_down, round(up)) if abs(up - round(up)) < 1e-6 * up else None

    def tree(self, hosts: int, nics: int) -> Tree:
        """One of the equal networks that `hosts` hosts with `nics` NICs each need."""
        rails = self.rail_count(nics)
        share = nics // rails  # NICs of a host on one rail
        ends = hosts * (share if self.layout == "rails" else nics)
        ports = self.switch.ports
        if ends <= ports and self.leaf_down is None and self.spines is None:
            return single(ends)
        down, up = self.ports() or (ports // 2, ports - ports // 2)
        if self.layout == "aligned":
            leaves = rails * math.ceil(hosts / max(1, down // share))
        else:
            leaves = math.ceil(ends / down)
        if leaves <= ports:
            return two_tiers(ends, leaves, down, up, ports, self.spines or 0)
        return three_tiers(ends, leaves, down, up, ports)

    def power(self, hosts: int, nics: int) -> float:
        """W of all switches with their optics, and of the transceivers at the host ports."""
        switches = self.networks(nics) * self.tree(hosts, nics).switches
        ends = hosts * nics * self.planes
        return switches * self.switch.power + ends * self.switch.optic_power
