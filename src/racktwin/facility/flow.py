"""Power through every unit of a hall's chain, from the parts in the racks up to the meter.

Racks of the fabric's switches stand behind the racks of GPUs. A rack takes equal parts from the
feeds it still hangs on, and is dark without one.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.facility.conversion import Array, bus_loss, curve_loss, stage_loss
from racktwin.facility.draw import Draw, host_draw
from racktwin.hardware import Cluster, Facility


class Flow(msgspec.Struct, frozen=True):
    """W in every rack (a row) and unit, on every feed (a column).

    hosts: hosts running in each rack (count). useful: what the parts of a rack draw; bus: lost on
    its bar. shelves: out of its power shelves, or into a rack that has none; inlet: into the rack.
    out, into: a pair of arrays for each stage, units x feeds. house: cooling and the rest, W.
    """

    hosts: NDArray[np.int64]
    useful: Array
    bus: Array
    shelves: Array
    inlet: Array
    out: tuple[Array, ...]
    into: tuple[Array, ...]
    house: float

    @property
    def it(self) -> float:
        """IT power: into all racks, W."""
        return float(self.inlet.sum())

    @property
    def site(self) -> float:
        """At the meter, W."""
        return float(self.into[-1].sum()) + self.house


def gpu_racks(cluster: Cluster) -> NDArray[np.int64]:
    """Hosts in each rack of GPUs (count); the last may be part full."""
    hosts = np.full(cluster.racks, cluster.rack.hosts)
    hosts[-1] = cluster.hosts - (cluster.racks - 1) * cluster.rack.hosts
    return hosts


def switch_racks(cluster: Cluster, facility: Facility) -> NDArray[np.int64]:
    """Fabric switches in each rack of its own (count)."""
    switches = cluster.networks * cluster.tree.switches
    size = facility.switches_per_rack
    racks = np.full(-(-switches // size), size)
    racks[-1] = switches - (len(racks) - 1) * size
    return racks


def rack_count(cluster: Cluster, facility: Facility) -> int:
    """Racks of GPUs and of switches (count)."""
    return cluster.racks + len(switch_racks(cluster, facility))


def flow(cluster: Cluster, facility: Facility, each: Draw, alive: NDArray[np.bool_]) -> Flow:
    """Power everywhere when the parts draw `each` (W) and racks hang on the feeds in `alive`."""
    rack = cluster.rack
    lit = np.asarray(alive.any(axis=1))
    hosts, switches = gpu_racks(cluster), switch_racks(cluster, facility)
    hosts = np.where(lit[: len(hosts)], hosts, 0)
    own = hosts * host_draw(cluster, each) + rack.switches * each.asic * (hosts > 0)
    useful = np.concatenate([own, np.where(lit[len(hosts) :], switches * each.switch, 0.0)])
    installed = rack.shelves * float(rack.shelf_power)
    bus = np.zeros(len(useful))
    bus[: len(hosts)] = bus_loss(float(rack.bus_loss), installed / 2, own)
    share = alive / np.maximum(alive.sum(axis=1, keepdims=True), 1)
    shelves = (useful + bus)[:, None] * share
    inlet = shelves.copy()
    if rack.shelf_curve is not None and installed:
        part = shelves[: len(hosts)]
        lost = curve_loss(rack.shelf_curve, installed / facility.feeds, part)
        inlet[: len(hosts)] = part + lost
    elif installed:
        inlet[: len(hosts)] /= rack.conversion
    out, into = _stages(facility, inlet)
    it, drawn = float(inlet.sum()), float(into[-1].sum())
    house = max(0.0, it * cluster.site.pue - drawn)
    return Flow(hosts, useful, bus, shelves, inlet, out, into, house)


def _stages(facility: Facility, inlet: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Out of and into every unit of every stage, W."""
    out, into = [], []
    below, racks = inlet, 1
    for stage in facility.stages:
        edges = np.arange(0, len(below), stage.racks // racks)
        passed = np.add.reduceat(below, edges, axis=0)
        out.append(passed)
        into.append(passed + stage_loss(stage, passed))
        below, racks = into[-1], stage.racks
    return tuple(out), tuple(into)
