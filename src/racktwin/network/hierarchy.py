"""Groups over several NVLink domains: a phase inside each, a phase over the NICs between them.

Two estimates are kept apart. 'ideal' runs both phases as a pipeline, with reduction in the NVLink
switch. 'nccl' does what NCCL was seen to do: the same over two domains, rings beyond (NVIDIA/nccl
issue 1221). Between 3 and 19 racks no public measurement exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.network import domain
from racktwin.network.bound import bound, smallest_domain
from racktwin.network.curve import Array, smooth_sum
from racktwin.network.fabric import tiers
from racktwin.network.volume import Operation, wire_share

if TYPE_CHECKING:
    from racktwin.hardware import Cluster, Place

Mode = Literal["nccl", "ideal"]
ONE_BYTE = 1.0


def nic_bandwidth(cluster: Cluster) -> tuple[float, str]:
    """B/s per GPU and direction that collectives reach over the NIC, and the source of it."""
    facts = tiers()
    fact = facts.nic_efficiency_of.get(cluster.name, facts.nic_efficiency)
    return cluster.nic * fact.value, f"NIC at {fact.value:.0%} of line rate, {fact.kind}"


def seconds(
    operation: Operation, size: npt.ArrayLike, place: Place, cluster: Cluster, mode: Mode
) -> tuple[Array, Evidence]:
    """Time of `size` bytes over the domains of `place`, never below the bound of either tier."""
    size = np.asarray(size, np.float64)
    domains = -(-place.ranks // place.per_domain)
    rings = mode == "nccl" and domains > tiers().switch_domains.value
    start = _inner(operation, np.asarray(ONE_BYTE), place, cluster, rings)
    inner = np.maximum(_inner(operation, size, place, cluster, rings) - start, 0.0)
    outer = _outer(operation, size, place, cluster, rings)
    passes = 2 if operation == "all_reduce" else 1
    latency = start + passes * np.ceil(np.log2(domains)) * tiers().nic_hop.value
    time = latency + smooth_sum(inner, outer, tiers().overlap.value)
    name = f"{mode} over {domains} NVLink domains; {nic_bandwidth(cluster)[1]}"
    return np.maximum(time, bound(operation, size, place, cluster)), Evidence("formula", name)


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
