"""Groups over several NVLink domains: a phase inside each, a phase over the NICs between them.

Two estimates are kept apart. 'ideal' runs both phases as a pipeline, with reduction in the NVLink
switch. 'nccl' does what NCCL was seen to do: the same over two domains, rings beyond (NVIDIA/nccl
issue 1221). Between 3 and 19 racks no public measurement exists.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster, Place
from racktwin.network import domain
from racktwin.network.bound import bound, smallest_domain
from racktwin.network.curve import Array, smooth_sum
from racktwin.network.fabric import generation, nccl, tiers
from racktwin.network.volume import Operation, wire_share

Algorithm = Literal["nccl", "ideal"]
ONE_BYTE = 1.0


def nic_bandwidth(cluster: Cluster) -> tuple[float, str]:
    """B/s per GPU and direction that collectives reach over the NIC, and the source of it."""
    own = cluster.fabric.nic_efficiency
    share = float(tiers().nic_efficiency if own is None else own)
    return cluster.nic * share, f"NICs at {share:.0%} of line rate"


def seconds(
    operation: Operation, size: npt.ArrayLike, place: Place, cluster: Cluster, algorithm: Algorithm
) -> tuple[Array, Evidence]:
    """Time of `size` bytes over the domains of `place`, never below the bound of either tier."""
    size = np.asarray(size, np.float64)
    rings = algorithm == "nccl" and place.domains > tiers().switch_domains
    start = _inner(operation, np.asarray(ONE_BYTE), place, cluster, rings)
    inner = np.maximum(_inner(operation, size, place, cluster, rings) - start, 0.0)
    outer = _outer(operation, size, place, cluster, rings)
    latency = _latency(operation, start, place, cluster, algorithm)
    time = latency + smooth_sum(inner, outer, tiers().overlap)
    name = f"{algorithm} over {place.domains} NVLink domains; {nic_bandwidth(cluster)[1]}"
    return np.maximum(time, bound(operation, size, place, cluster)), Evidence("formula", name)


def _latency(
    operation: Operation, start: Array, place: Place, cluster: Cluster, algorithm: Algorithm
) -> Array:
    """Start-up, s: a tree over domains; NCCL's rings and all-to-all visit every rank instead."""
    hop = float(tiers().nic_hop)
    if algorithm == "ideal" or operation == "all_reduce":
        passes = 2 if operation == "all_reduce" else 1
        return np.asarray(start + passes * np.ceil(np.log2(place.domains)) * hop)
    rule = nccl().rules[generation(cluster.chip.family)][operation]
    crossings = 1 if operation == "all_to_all" else place.domains
    ring = rule.alpha + rule.per_rank * (place.ranks - 1) + crossings * hop
    return np.maximum(start, ring)


def _outer(operation: Operation, size: Array, place: Place, cluster: Cluster, rings: bool) -> Array:
    """Seconds each NIC is busy: its rank's shard of the traffic between domains, or of the ring."""
    own = smallest_domain(place)
    if operation == "all_to_all":
        sent = 1.0 - own / place.ranks
    else:
        sent = wire_share(operation, place.ranks if rings else place.ranks / own) / own
    return np.asarray(size * sent / nic_bandwidth(cluster)[0])


def _inner(operation: Operation, size: Array, place: Place, cluster: Cluster, rings: bool) -> Array:
    """Seconds of the phases inside a domain; a ring's all-reduce scatters, then gathers."""
    ranks = place.per_domain
    if ranks < 2:
        return np.zeros_like(size)
    if operation == "all_to_all":
        return domain.seconds(operation, size * ranks / place.ranks, ranks, cluster)[0]
    if operation != "all_reduce" or not rings:
        return domain.seconds(operation, size, ranks, cluster)[0]
    scatter = domain.seconds("reduce_scatter", size, ranks, cluster)[0]
    return np.asarray(scatter + domain.seconds("all_gather", size, ranks, cluster)[0])
