"""A `Flow` as the tree that people read: site, stages, racks, trays, parts."""

from __future__ import annotations

from racktwin.facility.draw import Draw
from racktwin.facility.flow import Flow
from racktwin.facility.node import Node, conserved
from racktwin.hardware import Cluster, Facility


def power_tree(cluster: Cluster, facility: Facility, each: Draw, power: Flow) -> Node:
    """The whole chain; every node in balance. each: W of one part."""
    gpu_racks = len(power.hosts)
    below: tuple[Node, ...] = tuple(
        node
        for node in (
            _racks(cluster, each, power),
            _network(cluster, each, power, gpu_racks),
        )
        if node.watts > 0
    )
    for stage, out, into in zip(facility.stages, power.out, power.into, strict=True):
        watts = float(into.sum())
        below = (Node(stage.name, int((out > 0).sum()), watts, watts - float(out.sum()), below),)
    house = Node("cooling and house", 1, power.house)
    return conserved(Node("site", 1, power.site, 0.0, (*below, house)))


def _racks(cluster: Cluster, each: Draw, power: Flow) -> Node:
    """Racks of GPUs, from their inlets."""
    rack, host = cluster.rack, cluster.rack.host
    count, hosts = int((power.hosts > 0).sum()), int(power.hosts.sum())
    inlet = float(power.inlet[: len(power.hosts)].sum())
    shelves = float(power.shelves[: len(power.hosts)].sum())
    bus = float(power.bus[: len(power.hosts)].sum())
    parts = [
        Node(host.chip.name.upper(), hosts * host.gpus, hosts * host.gpus * each.gpu),
        Node(host.cpu.name, hosts * host.cpus, hosts * host.cpus * each.cpu),
        Node("CPU memory", hosts * host.cpus, hosts * host.cpus * each.memory),
        Node("NIC", hosts * host.nics, hosts * host.nics * each.nic),
        Node("optic", hosts * host.nics, hosts * host.nics * each.optic),
        Node("rest of a tray" if rack.switches else "rest of a node", hosts, hosts * each.other),
    ]
    parts = [part for part in parts if part.watts > 0]
    name = "tray" if rack.switches else "node"
    trays = Node(name, hosts, sum(part.watts for part in parts), 0.0, tuple(parts))
    asics = Node("NVLink switch", count * rack.switches, count * rack.switches * each.asic)
    useful = (trays, asics) if asics.watts > 0 else (trays,)
    if not rack.shelves:
        return Node(rack.name, count, inlet, 0.0, useful)
    bar = Node("bus bar", count, shelves, bus, useful)
    return Node(rack.name, count, inlet, inlet - shelves, (bar,))


def _network(cluster: Cluster, each: Draw, power: Flow, gpu_racks: int) -> Node:
    """Racks of the fabric's switches."""
    inlet = power.inlet[gpu_racks:]
    watts = float(inlet.sum())
    lit = int((inlet.sum(axis=1) > 0).sum())
    made = round(watts / each.switch) if each.switch else 0
    switches = Node(f"{cluster.fabric.switch.name} switch", made, watts)
    return Node("rack of switches", lit, watts, 0.0, (switches,))
