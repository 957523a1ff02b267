"""What a fabric consists of and what it offers, counted from its topology."""

from __future__ import annotations

import math

import msgspec

from racktwin.network.bisection import bisection
from racktwin.network.health import Health
from racktwin.network.routing import one_way, path
from racktwin.network.topology import Topology


class Tier(msgspec.Struct, frozen=True):
    """Switches of one tier in all networks: `down` and `up` ports in use of each (the fullest)."""

    name: str
    switches: int
    down: int
    up: int
    watts: float


class Way(msgspec.Struct, frozen=True):
    """Between two GPUs: through `switches` switches (count), a first byte one way, s."""

    name: str
    switches: int
    seconds: float


class Domain(msgspec.Struct, frozen=True):
    """The NVLink side.

    links: of a GPU, to each ASIC per_asic (count). bisection: B/s one way between its halves.
    """

    domains: int
    gpus: int
    asics: int
    trays: int
    links: float
    per_asic: float
    bisection: float


class Loss(msgspec.Struct, frozen=True):
    """What faults took.

    bisection: B/s one way that is left; nic, nvlink, uplinks: least share (fraction) that a GPU,
    a GPU, a leaf has left; cut: GPUs cut off by name, and the fault that did it.
    """

    bisection: float
    nic: float
    nvlink: float
    uplinks: float
    cut: dict[str, str]


class Inventory(msgspec.Struct, frozen=True):
    """A fabric.

    tiers: of switches. cables: host to leaf, leaf to spine, spine to core; optics: transceivers at
    hosts and in switch cages. bisection: B/s one way between two halves of the hosts, at line
    rate; full: of that of their NICs (fraction). watts: switches with their optics, transceivers
    at hosts; nics: W of NICs, part of the hosts.
    """

    networks: int
    tiers: tuple[Tier, ...]
    cables: tuple[int, int, int]
    optics: tuple[int, int]
    bisection: float
    full: float
    watts: tuple[float, float]
    nics: float
    ways: tuple[Way, ...]
    domain: Domain


def inventory(topology: Topology) -> Inventory:
    """Everything there is, counted; faults do not matter here."""
    tree, fabric, host = topology.tree, topology.fabric, topology.host
    ports = topology.nics * topology.planes
    trunks = [topology.trees * each for each in tree.trunks]
    ends = 2 * sum(trunks) + ports
    half = bisection(Health(topology))
    tiers = _tiers(topology)
    return Inventory(
        networks=topology.trees,
        tiers=tiers,
        cables=(ports, *trunks),  # type: ignore[arg-type]
        optics=(ports, math.ceil(ends / fabric.switch.cage_ports)),
        bisection=half,
        full=half / (topology.nics * host.nic / 2),
        watts=(sum(each.watts for each in tiers), ports * float(fabric.switch.optic_power)),
        nics=topology.nics * float(host.nic_power),
        ways=_ways(topology),
        domain=_domain(topology),
    )


def loss(health: Health) -> Loss:
    """What is left with faults."""
    topology, tree = health.topology, health.topology.tree
    uplinks = [float(health.uplinks(leaf).sum()) / tree.up for leaf in health.hurt_leaves]
    return Loss(
        bisection=bisection(health),
        nic=float(health.nics().min()),
        nvlink=float(health.nvlink().min()),
        uplinks=min(uplinks, default=1.0),
        cut={topology.gpu_name(gpu): why for gpu, why in sorted(health.cut().items())},
    )


def _tiers(topology: Topology) -> tuple[Tier, ...]:
    tree, watts = topology.tree, float(topology.fabric.switch.power)
    below, above = tree.pod_leaves * tree.links, tree.spine_up(0)
    found = [("leaf", topology.leaves, min(tree.down, tree.ends), tree.up)]
    if tree.up:
        found.append(("spine", topology.spines, below, above))
    if tree.group_cores:
        found.append(("core", topology.cores, math.ceil(above / tree.group_cores) * tree.pods, 0))
    return tuple(Tier(name, n, down, up, n * watts) for name, n, down, up in found)


def _ways(topology: Topology) -> tuple[Way, ...]:
    cluster, tree = topology.cluster, topology.tree
    switch = cluster.rack.switch or topology.host.switch
    inside = 2 * float(path().nvlink_delay) + (float(switch.latency) if switch else 0.0)
    names = [("one NVLink domain", 1), ("one leaf", 1), ("two leaves", 3), ("two pods", 5)]
    return tuple(
        Way(name, count, one_way(cluster, count) if at else inside)
        for at, (name, count) in enumerate(names[: 1 + tree.tiers])
    )


def _domain(topology: Topology) -> Domain:
    cluster = topology.cluster
    switch = cluster.rack.switch if cluster.rack.switches else topology.host.switch
    links = cluster.nvlink / float(switch.rate) if switch else 0.0
    return Domain(
        domains=topology.domains,
        gpus=min(topology.domain, topology.gpus),
        asics=topology.asics,
        trays=cluster.rack.trays,
        links=links,
        per_asic=links / topology.asics if topology.asics else 0.0,
        bisection=topology.domain // 2 * cluster.nvlink,
    )
