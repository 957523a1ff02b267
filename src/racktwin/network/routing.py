"""What a routing and a congestion control make of a fabric: facts of catalog/fabrics."""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

import msgspec

from racktwin import catalog
from racktwin.hardware import Cluster
from racktwin.network.fabric import ORIGIN, tiers
from racktwin.units import Fraction, Seconds

Routing = Literal["static", "spray", "adaptive", "rail"]
Control = Literal["telemetry", "none"]
Kind = Literal["pairs", "many"]
ROUTINGS: tuple[Routing, ...] = get_args(Routing)
CONTROLS: tuple[Control, ...] = get_args(Control)
ABOUT: dict[Routing, str] = {
    "static": "each flow keeps the path its hash picks",
    "spray": "packets spread evenly over all live paths",
    "adaptive": "packets take the least loaded path",
    "rail": "adaptive; NVLink first to the NIC of the receiver's rail (PXN)",
}


class Efficiency(msgspec.Struct, frozen=True):
    """Share (fraction) of inter-switch capacity that is used.

    pairs: each sender has one receiver at a time. many: each sends to many at once.
    """

    pairs: Fraction
    many: Fraction


class Efficiencies(msgspec.Struct, frozen=True):
    """The efficiency (fraction) of each routing."""

    static: Efficiency
    spray: Efficiency
    adaptive: Efficiency


class Congestion(msgspec.Struct, frozen=True):
    """Telemetry-based congestion control.

    reaction: s until senders are at their shares; victim_loss: fraction that a flow passing by
    a congestion still loses then.
    """

    reaction: Seconds
    victim_loss: Fraction


class Path(msgspec.Struct, frozen=True):
    """Delays along a path: at each NIC, at each GPU's NVLink, along each cable, s."""

    nic_delay: Seconds
    nvlink_delay: Seconds
    cable_delay: Seconds


@cache
def efficiencies() -> Efficiencies:
    """The efficiency of each routing."""
    return catalog.load("fabrics", "routing").build(Efficiencies, ORIGIN)


@cache
def congestion() -> Congestion:
    """The congestion control."""
    return catalog.load("fabrics", "congestion").build(Congestion, ORIGIN)


@cache
def path() -> Path:
    """The delays."""
    return catalog.load("fabrics", "path").build(Path, ORIGIN)


def transport(routing: Routing) -> Literal["static", "spray", "adaptive"]:
    """How packets choose between spines: rail-aligned traffic adapts."""
    return "adaptive" if routing == "rail" else routing


def efficiency(routing: Routing, kind: Kind) -> float:
    """Share (fraction) of inter-switch capacity that traffic of this kind makes use of."""
    found: Efficiency = getattr(efficiencies(), transport(routing))
    return float(getattr(found, kind))


def efficiency_kind(routing: Routing, kind: Kind) -> str:
    """Whether that share is measured, derived or assumed."""
    return catalog.load("fabrics", "routing").fact(f"{transport(routing)}.{kind}").kind


def nic_efficiency(cluster: Cluster) -> float:
    """Share (fraction) of a NIC's line rate that messages reach on this cluster."""
    own = cluster.fabric.nic_efficiency
    return float(tiers().nic_efficiency if own is None else own)


def one_way(cluster: Cluster, switches: int) -> float:
    """Time of a first byte over the fabric through `switches` (count) switches, s."""
    delays, fabric = path(), cluster.fabric
    cable = delays.cable_delay if fabric.cable_delay is None else fabric.cable_delay
    return (
        2 * float(delays.nic_delay)
        + (switches + 1) * float(cable)
        + switches * float(fabric.switch.latency)
    )
