"""The physical floor: no collective is faster than the bytes its links must carry."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.hardware import Cluster, Place
from racktwin.network.curve import Array
from racktwin.network.volume import Operation, least_share
from racktwin.network.way import USUAL, Way


def smallest_domain(place: Place) -> int:
    """Ranks in the emptiest of the NVLink domains a group touches: the fewest NICs to share."""
    return place.ranks % place.per_domain or min(place.per_domain, place.ranks)


def bound(
    operation: Operation, size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way = USUAL
) -> Array:
    """Least seconds of a collective of `size` bytes at line rate, any algorithm, zero latency.

    Each rank's NVLink carries its least share; each NVLink domain takes in, over the NICs of its
    ranks, what it lacks. Line rates per direction come from the cluster, what is left of them from
    `way`: a weak NIC does not count where others of its domain can carry its traffic.
    """
    size = np.asarray(size, np.float64)
    nvlink, nic = cluster.nvlink * way.nvlink, cluster.nic * max(way.nic, way.domain)
    if place.ranks < 2:
        return np.zeros_like(size)
    domain = smallest_domain(place)
    if place.ranks <= place.per_domain:
        return np.asarray(size * least_share(operation, place.ranks) / nvlink)
    outside = 1.0 - domain / place.ranks
    share = {
        "all_reduce": 1.0 / domain,
        "all_gather": outside / domain,
        "reduce_scatter": outside / domain,
        "all_to_all": outside,
        "broadcast": 1.0 / domain,
    }[operation]
    inside = (
        least_share(operation, domain) if operation != "all_to_all" else (domain - 1) / place.ranks
    )
    return np.asarray(size * np.maximum(share / nic, inside / nvlink))
