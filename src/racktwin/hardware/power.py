"""What a rack and a cluster draw at the limit, part by part."""

from __future__ import annotations

import msgspec

from racktwin.hardware.cluster import Cluster
from racktwin.hardware.rack import Rack
from racktwin.units import Watts


class Part(msgspec.Struct, frozen=True):
    """`count` parts of one kind and what they draw together, W."""

    title: str
    count: int
    power: Watts


def rack_parts(rack: Rack) -> list[Part]:
    """Parts of a full rack; they add up to its power."""
    host, hosts = rack.host, rack.hosts
    gpus, cpus, nics = hosts * host.gpus, hosts * host.cpus, hosts * host.nics
    parts = [
        Part(host.chip.name.upper(), gpus, Watts(gpus * host.chip.tdp)),
        Part(host.cpu.name, cpus, Watts(cpus * host.cpu.tdp)),
        Part("CPU memory", cpus, Watts(cpus * host.cpu.memory_power)),
        Part("NIC", nics, Watts(nics * host.nic_power)),
        Part("rest of a host", hosts, Watts(hosts * host.other_power)),
        Part("NVLink switch ASIC", rack.switches, Watts(rack.switch_power)),
    ]
    loss = rack.power() - sum(part.power for part in parts)
    parts.append(Part("conversion loss", max(1, rack.shelves), Watts(loss)))
    return [part for part in parts if part.power > 0]


def cluster_parts(cluster: Cluster) -> list[Part]:
    """Racks and fabric; they add up to the cluster's IT power."""
    switch, ends = cluster.fabric.switch, cluster.ends * cluster.fabric.planes
    switches = cluster.networks * cluster.tree.switches
    racks = cluster.power - cluster.fabric_power
    return [
        Part(cluster.rack.name, cluster.racks, Watts(racks)),
        Part(f"{switch.name} switch", switches, Watts(switches * switch.power)),
        Part("host-side optics", ends, Watts(ends * switch.optic_power)),
    ]
