"""A switch chip or switch: ports of one rate."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.units import Bandwidth, Seconds, Watts


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """`ports` ports of `rate` B/s each way; power (W) includes the optics in its cages.

    latency: s through it. cage_ports: ports of one cage, so of one transceiver.
    planes: parts of a port that fail alone, each on a chip of its own inside.
    optic_power: W of one transceiver at the far end of a link, 0 for copper.
    """

    name: str = ""
    title: str
    ports: Count
    rate: Bandwidth
    power: Watts
    latency: Seconds = Seconds(0.0)
    cage_ports: Count = 1
    planes: Count = 1
    optic_power: Watts = Watts(0.0)

    @property
    def capacity(self) -> float:
        """B/s through all ports, both ways together."""
        return 2 * self.ports * self.rate
