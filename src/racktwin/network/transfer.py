"""From one GPU to another: activations between pipeline stages, KV caches between pools."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster, Place
from racktwin.kernels.priced import Priced
from racktwin.network import domain
from racktwin.network.collective import ALONE, moved
from racktwin.network.fabric import tiers
from racktwin.network.hierarchy import nic_bandwidth
from racktwin.network.standing import standing
from racktwin.network.way import Way


def point_to_point(
    size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way | None = None
) -> Priced:
    """NCCL send and receive of `size` bytes between neighbours of `place` (pipeline stages).

    In one domain: the all-to-all of two ranks, which sends half of its buffer. Else one NIC each.
    """
    message = np.asarray(size, np.float64)
    if place.ranks < 2:
        return moved(0 * message, 0 * message, ALONE, place)
    way = standing("all_gather", place, cluster) if way is None else way
    if place.ranks <= place.per_domain:
        time, evidence = domain.seconds("all_to_all", 2 * message, 2, cluster, way)
    else:
        bandwidth, note = nic_bandwidth(cluster, way)
        time = tiers().nic_start + message / bandwidth
        evidence = Evidence("formula", f"send, {note}")
    return moved(message, np.where(message > 0, time, 0.0), evidence, place)


def transfer(size: npt.ArrayLike, place: Place, cluster: Cluster) -> Priced:
    """One-sided copy of `size` bytes from each GPU of one pool to its partner in the other.

    `place` spans both pools: over NVLink when they share a domain, else over the NIC of each GPU.
    """
    message = np.asarray(size, np.float64)
    if place.ranks < 2:
        return moved(0 * message, 0 * message, ALONE, place)
    facts = tiers()
    if place.ranks <= place.per_domain:
        start, bandwidth = facts.copy_start, cluster.nvlink * facts.copy_efficiency
        note = f"copy over NVLink at {float(facts.copy_efficiency):.0%} of line rate"
    else:
        bandwidth, note = nic_bandwidth(cluster, standing("all_to_all", place, cluster))
        start = facts.nic_start
    time = np.where(message > 0, start + message / bandwidth, 0.0)
    return moved(message, time, Evidence("formula", note), place)
