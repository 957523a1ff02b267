"""What every part of a hall draws at a load: the leaves of the power chain."""

from __future__ import annotations

import msgspec

from racktwin.hardware import Cluster


class Draw(msgspec.Struct, frozen=True):
    """Power of one part of each kind, W.

    gpu, cpu, memory (of one CPU), nic, optic (at a NIC), other (rest of a host), asic (NVLink
    switch), switch (of the fabric, with the optics in its cages).
    """

    gpu: float
    cpu: float
    memory: float
    nic: float
    optic: float
    other: float
    asic: float
    switch: float


def draw(cluster: Cluster, load: float, cap: float | None = None) -> Draw:
    """Every part at `load`, the share (fraction) of the way from idle to the limit.

    GPUs and CPUs follow the load; NICs, optics, switches and the rest of a host draw the same
    whatever they do (links stay up). cap: W a GPU may draw, at most its TDP.
    """
    host, fabric = cluster.rack.host, cluster.fabric.switch
    top = min(float(host.chip.tdp), float("inf") if cap is None else cap)
    asic = cluster.rack.switch
    return Draw(
        gpu=min(top, _between(host.chip.idle_power, host.chip.tdp, load)),
        cpu=_between(host.cpu.idle_power, host.cpu.tdp, load),
        memory=float(host.cpu.memory_power),
        nic=float(host.nic_power),
        optic=float(fabric.optic_power) * cluster.fabric.planes,
        other=float(host.other_power),
        asic=float(asic.power) if asic else 0.0,
        switch=float(fabric.power),
    )


def host_draw(cluster: Cluster, each: Draw) -> float:
    """W of one host with its optics."""
    host = cluster.rack.host
    cpus = host.cpus * (each.cpu + each.memory)
    return host.gpus * each.gpu + cpus + host.nics * (each.nic + each.optic) + each.other


def _between(idle: float, most: float, load: float) -> float:
    return float(idle + load * (most - idle))
