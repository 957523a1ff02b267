"""Headline figures of a rack or a cluster, added up from their parts."""

from __future__ import annotations

import msgspec

from racktwin.hardware.cluster import Cluster
from racktwin.hardware.rack import Rack
from racktwin.units import Bandwidth, Bitrate, Bytes, Quantity, Watts

FORMATS = {"nvfp4": "NVFP4", "fp8": "FP8", "bf16": "BF16"}


class Figure(msgspec.Struct, frozen=True):
    """One figure per GPU, per full rack and for the cluster; None where it means nothing.

    Values are counts, or quantities in their own unit; `how` says how it is derived.
    """

    key: str
    title: str
    gpu: Quantity | int | None
    rack: Quantity | int | None
    cluster: Quantity | int | None
    how: str = ""


def figures(thing: Cluster | Rack) -> list[Figure]:
    """Counts, compute, memory, bandwidth and power of a cluster, or of one full rack."""
    rack = thing if isinstance(thing, Rack) else thing.rack
    cluster = thing if isinstance(thing, Cluster) else None
    hosts = cluster.hosts if cluster else None
    power = Figure(
        "power",
        "IT power at the limit",
        rack.host.chip.tdp,
        Watts(rack.power()),
        Watts(cluster.power) if cluster else None,
    )
    return [
        *_counts(rack, cluster),
        *_compute(rack, hosts),
        *_memory(rack, hosts),
        *_links(rack, hosts),
        power,
    ]


def each(
    key: str, title: str, value: Quantity, rack: Rack, hosts: int | None, how: str = ""
) -> Figure:
    """A figure that every GPU has: one, a rack of them, all of them."""
    unit = type(value)
    total = None if hosts is None else unit(value * hosts * rack.host.gpus)
    return Figure(key, title, value, unit(value * rack.gpus), total, how)


def per_host(
    key: str, title: str, value: Quantity | int, rack: Rack, hosts: int | None, how: str = ""
) -> Figure:
    """A figure that every host has: a rack of them, all of them."""
    unit = type(value)
    total = None if hosts is None else unit(value * hosts)
    return Figure(key, title, None, unit(value * rack.hosts), total, how)


def _counts(rack: Rack, cluster: Cluster | None) -> list[Figure]:
    host, hosts = rack.host, cluster.hosts if cluster else None
    gpus, cpus = f"{host.gpus} a host", f"{host.cpus} a host"
    gpu_total = cluster.gpus if cluster else None
    return [
        Figure("racks", "racks", None, 1, cluster.racks if cluster else None),
        per_host("hosts", "hosts (VMs)", 1, rack, hosts),
        Figure("gpus", f"GPUs ({host.chip.name})", 1, rack.gpus, gpu_total, gpus),
        per_host("cpus", f"CPUs ({host.cpu.name})", host.cpus, rack, hosts, cpus),
        Figure("domain", "GPUs joined by NVLink", None, rack.domain, None),
    ]


def _compute(rack: Rack, hosts: int | None) -> list[Figure]:
    chip = rack.host.chip
    return [
        each(f"{name}_{kind}", f"{title} {kind}", peaks[name], rack, hosts)
        for name, title in FORMATS.items()
        for kind, peaks in (("dense", chip.peak), ("sparse", chip.sparse_peak))
        if name in peaks
    ]


def _memory(rack: Rack, hosts: int | None) -> list[Figure]:
    host, chip, cpu = rack.host, rack.host.chip, rack.host.cpu
    listed = f"{host.gpus} x {chip.memory_usable} + {host.cpus} x {cpu.memory} a host"
    return [
        each("memory_sold", "HBM as sold", chip.memory_sold, rack, hosts),
        each("memory_usable", "HBM listed usable", chip.memory_usable, rack, hosts),
        each("memory_visible", "HBM engines see", chip.memory_visible, rack, hosts),
        per_host("memory_cpu", "CPU memory", Bytes(host.cpus * cpu.memory), rack, hosts),
        per_host("memory_fast", "fast memory", Bytes(host.fast_memory), rack, hosts, listed),
        each("memory_bandwidth", "HBM bandwidth", chip.memory_bandwidth, rack, hosts),
    ]


def _links(rack: Rack, hosts: int | None) -> list[Figure]:
    host = rack.host
    both, how = Bandwidth(2 * host.chip.nvlink), f"{host.chip.nvlink} each way"
    return [
        each("nvlink", "NVLink, both ways", both, rack, hosts, how),
        each("fabric", "fabric, each way", Bitrate(host.nic_per_gpu), rack, hosts),
    ]
