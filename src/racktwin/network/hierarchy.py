"""Groups over several NVLink domains: a phase inside each, a phase over the NICs between them.

Two estimates are kept apart. 'ideal' runs both phases as a pipeline, with reduction in the NVLink
switch. 'calibrated' does what NCCL does, with the bandwidths it was seen to reach: the quicker of
rings and of trees between reducing switches, which use a NIC for each of their channels and every
NIC twice beyond two domains (hence 430 GB/s over 2 and 320 over 4 H100 nodes, NVIDIA/nccl issue
1221). Between 3 and 19 racks no public measurement exists. With SHARP the switches between domains
reduce too: a NIC then sends its shard of an all-reduce once.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster, Place
from racktwin.network import domain, sharp
from racktwin.network.algorithm import ALL
from racktwin.network.bound import bound, smallest_domain
from racktwin.network.channels import group
from racktwin.network.curve import Array, smooth_sum
from racktwin.network.fabric import generation, nccl, tiers
from racktwin.network.routing import efficiency, nic_efficiency
from racktwin.network.tuner import PROTOCOLS, tuner
from racktwin.network.volume import Operation, wire_share
from racktwin.network.way import USUAL, Way

SHARP = ("", "nvls", "collnet_direct", "collnet_chain")
"""Algorithms that let the switches between domains reduce, where these can."""
SWITCHED = ("nvls", "nvls_tree", "collnet_direct", "collnet_chain")
"""Algorithms that reduce in switches, each domain sending its part once over the NICs."""


def nic_bandwidth(cluster: Cluster, way: Way = USUAL) -> tuple[float, str]:
    """B/s per GPU and direction that collectives reach over the NIC, and the source of it.

    NICs reach their share of what is left of them; cables behind them are shared by packets of all
    NICs and may be filled further.
    """
    own = nic_efficiency(cluster)
    share = min(own * way.port, max(own, efficiency("adaptive", "many")) * way.nic)
    return cluster.nic * share, f"NICs at {share:.0%} of line rate"


def seconds(
    operation: Operation, size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way
) -> tuple[Array, Evidence]:
    """Time of `size` bytes over the domains of `place`, never below the bound of either tier."""
    size = np.asarray(size, np.float64)
    if like := domain.LIKE.get(operation):
        alike = size * wire_share(operation, place.ranks) / wire_share(like, place.ranks)
        time, evidence = seconds(like, alike, place, cluster, way)
        evidence = Evidence("formula", f"{operation} as {evidence.name}")
    else:
        time = _two_tiers(operation, size, place, cluster, way)
        name = f"{way.estimate} over {place.domains} NVLink domains"
        if way.algorithm:
            begin = _two_tiers(operation, np.asarray(0.0), place, cluster, way)
            starts, wires = _against_like(operation, place, cluster, way)
            time = begin * starts + np.maximum(time - begin, 0.0) * wires
            name = f"{name}, {way.algorithm} by NCCL's model"
        reduced = ", SHARP" if _in_fabric(operation, way) else ""
        evidence = Evidence("formula", f"{name}{reduced}; {nic_bandwidth(cluster, way)[1]}")
    return np.maximum(time, bound(operation, size, place, cluster, way)), evidence


def _two_tiers(
    operation: Operation, size: Array, place: Place, cluster: Cluster, way: Way
) -> Array:
    """The tiers' switches or rings; the quicker of both where NCCL may choose."""
    if operation == "all_reduce" and way == _over_links(way):
        rings = _path(operation, size, place, cluster, way, switched=False)
        if place.per_domain < 2:
            return rings
        return np.minimum(rings, _path(operation, size, place, cluster, way, switched=True))
    time = _path(operation, size, place, cluster, way, switched=_switched(way))
    if way.estimate == "ideal":  # nothing seen is quicker
        seen = msgspec.structs.replace(way, estimate="calibrated")
        time = np.minimum(time, _two_tiers(operation, size, place, cluster, seen))
    return time


def _over_links(way: Way) -> Way:
    """NCCL as measured over the links of `way`."""
    return Way(nvlink=way.nvlink, nic=way.nic, domain=way.domain, port=way.port)


def _path(
    operation: Operation, size: Array, place: Place, cluster: Cluster, way: Way, *, switched: bool
) -> Array:
    """Starts of both tiers, then both at work at once."""
    nothing = np.asarray(0.0)
    begin = _inner(operation, nothing, place, cluster, way, switched=switched)
    inner = _inner(operation, size, place, cluster, way, switched=switched) - begin
    outer = _outer(operation, size, place, cluster, way, switched=switched)
    if operation == "all_reduce" and not switched and place.per_domain > 1:  # one call, not two
        ring = Way(algorithm="ring", nvlink=way.nvlink)
        begin = domain.seconds(operation, nothing, place.per_domain, cluster, ring)[0]
    latency = _latency(operation, begin, place, cluster, way, switched=switched)
    return np.asarray(latency + smooth_sum(np.maximum(inner, 0.0), outer, tiers().overlap))


def _in_fabric(operation: Operation, way: Way) -> bool:
    """Whether the switches between domains reduce."""
    return way.sharp and way.algorithm in SHARP and operation != "all_to_all"


def _switched(way: Way) -> bool:
    """Whether switches reduce inside a domain; else rings visit every rank."""
    if way.algorithm:
        return way.algorithm in SWITCHED
    return way.estimate == "ideal" or way.sharp


def _trees(operation: Operation, way: Way, *, switched: bool) -> bool:
    """Whether it is NCCL's trees between the switches of domains (NVLSTree)."""
    usual = way.estimate == "calibrated" and not _in_fabric(operation, way)
    return operation == "all_reduce" and switched and usual


def _against_like(
    operation: Operation, place: Place, cluster: Cluster, way: Way
) -> tuple[float, float]:
    """An algorithm against the one of its kind that `_two_tiers` is: start-up, wire; ratios."""
    found = group(place, cluster, Way(sharp=way.sharp))
    kind: tuple[str, ...] = ("ring",)
    if _switched(way):
        kind = SHARP[1:] if way.algorithm in SHARP else ("nvls_tree",)
    like = next(each for each in kind if not ALL[each].refuses(operation, found))
    if way.algorithm == like:
        return 1.0, 1.0
    starts, wires = domain.against(like, way.algorithm, operation, found)
    return (1.0 if way.algorithm == "tree" else starts), wires  # small messages go by trees anyway


def _latency(
    operation: Operation, start: Array, place: Place, cluster: Cluster, way: Way, *, switched: bool
) -> Array:
    """Start-up, s: a tree over domains; NCCL's rings and all-to-all visit every rank instead."""
    hop = float(tiers().nic_hop)
    if _trees(operation, way, switched=switched):
        level = tuner().network["nvls_tree"][PROTOCOLS.index("Simple")]
        return np.asarray(start + 2 * np.floor(np.log2(place.domains)) * level)
    passes = 2 if operation == "all_reduce" else 1
    if _in_fabric(operation, way):
        return np.asarray(start + passes * sharp.latency(place, cluster))
    if way.estimate == "ideal" or (operation == "all_reduce" and way.algorithm != "ring"):
        return np.asarray(start + passes * np.ceil(np.log2(place.domains)) * hop)
    rule = nccl().rules[generation(cluster.chip.family)][operation]
    crossings = 1 if operation == "all_to_all" else passes * place.domains
    ring = rule.alpha + rule.per_rank * (place.ranks - 1) + crossings * hop
    return np.maximum(start, ring)


def _outer(
    operation: Operation, size: Array, place: Place, cluster: Cluster, way: Way, *, switched: bool
) -> Array:
    """Seconds each NIC is busy: its rank's shard of the traffic between domains, or of the ring.

    NCCL's trees between switches use a NIC for each channel; a domain between others passes on
    what it takes in, so beyond two domains every byte leaves a domain twice.
    """
    own = smallest_domain(place)
    if _trees(operation, way, switched=switched):
        made = tuner().generations[generation(cluster.chip.family)]
        heads = min(made.nvls_channels["several"], own)
        passed = 1 if place.domains == 2 else 2
        return np.asarray(size * passed / heads / nic_bandwidth(cluster, way)[0])
    if operation == "all_to_all":
        sent = 1.0 - own / place.ranks
    elif _in_fabric(operation, way) and operation == "all_reduce":
        sent = 1.0 / own
    else:
        ranks = place.ranks / own if switched else place.ranks
        sent = wire_share(operation, ranks) / own
    return np.asarray(size * sent / nic_bandwidth(cluster, way)[0])


def _inner(
    operation: Operation, size: Array, place: Place, cluster: Cluster, way: Way, *, switched: bool
) -> Array:
    """Seconds of the phases inside a domain; a ring's all-reduce scatters, then gathers."""
    ranks, inside = place.per_domain, Way(nvlink=way.nvlink)
    if ranks < 2:
        return np.zeros_like(size)
    if operation == "all_to_all":
        part = size * ranks / place.ranks
        return domain.seconds(operation, part, ranks, cluster, inside)[0]
    if _trees(operation, way, switched=switched):
        inside = Way(algorithm="nvls", nvlink=way.nvlink)
    if operation != "all_reduce" or switched:
        return domain.seconds(operation, size, ranks, cluster, inside)[0]
    scatter = domain.seconds("reduce_scatter", size, ranks, cluster, inside)[0]
    return np.asarray(scatter + domain.seconds("all_gather", size, ranks, cluster, inside)[0])
