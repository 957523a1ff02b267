"""The network between NVLink domains: a folded Clos (fat tree) of one kind of switch."""

from __future__ import annotations

import math

import msgspec

from racktwin.catalog.bounds import Ratio
from racktwin.hardware.switch import Switch
from racktwin.units import Fraction


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """A fat tree; oversubscription: bandwidth down to hosts over bandwidth up, at the leaf.

    nic_efficiency: share of the NIC's line rate that was measured there, None where nobody did.
    """

    switch: Switch
    oversubscription: Ratio = 1.0
    nic_efficiency: Fraction | None = None

    @property
    def down(self) -> int:
        """Ports of a leaf that face hosts."""
        share = self.oversubscription / (1 + self.oversubscription)
        return max(1, min(self.switch.ports - 1, round(self.switch.ports * share)))

    def tiers(self, ends: int) -> int:
        """Levels of switches that `ends` host ports need."""
        leaves = self.leaves(ends)
        return 1 if ends <= self.switch.ports else 2 if leaves <= self.switch.ports else 3

    def leaves(self, ends: int) -> int:
        """Switches that hosts connect to."""
        return 1 if ends <= self.switch.ports else math.ceil(ends / self.down)

    def spines(self, ends: int) -> int:
        """Switches above the leaves (two tiers), with equal links from each leaf to each spine.

        Reproduces NVIDIA's table for 576 to 10,368 GPUs (DGX SuperPOD B300 XDR).
        """
        if self.tiers(ends) == 1:
            return 0
        up = self.switch.ports - self.down
        least = math.ceil(self.leaves(ends) * up / self.switch.ports)
        if self.tiers(ends) == 3:  # a middle tier as wide as the leaves, half that above it
            return math.ceil(1.5 * self.leaves(ends) * up / (self.switch.ports / 2))
        return next(n for n in range(least, up + 1) if up % n == 0)

    def switches(self, ends: int) -> int:
        """All switches of the tree."""
        return self.leaves(ends) + self.spines(ends)

    def power(self, ends: int) -> float:
        """W of the switches with their optics, and of the transceivers at the host ports."""
        return self.switches(ends) * self.switch.power + ends * self.switch.optic_power
