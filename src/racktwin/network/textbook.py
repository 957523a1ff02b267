"""What the algorithms of the literature cost on a two-tier machine: steps, and bytes per link.

alpha-beta costs (Thakur and others, 2005; Sanders and others, 2009; NCCL's PAT): steps x alpha +
bytes / bandwidth, at line rate, with the start-ups of tiers.yaml. Between domains every NIC takes
its share. None of it is a library's promise: it says which algorithm suits a size, and by how much.
"""

from __future__ import annotations

from math import ceil, log2

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.hardware import Cluster, Place
from racktwin.network import sharp
from racktwin.network.bound import bound
from racktwin.network.curve import Array
from racktwin.network.fabric import tiers
from racktwin.network.volume import Operation, wire_share
from racktwin.network.way import USUAL, Way


class Cost(msgspec.Struct, frozen=True):
    """What one algorithm takes of the machine.

    near, far: steps that stay in a domain, and that leave it. inside, outside: bytes of a GPU over
    NVLink and over its NIC, over the size of the buffer. extra: s beside these; posting: s a NIC
    takes for all its messages, however small.
    """

    near: float
    far: float
    inside: float
    outside: float
    extra: float = 0.0
    posting: float = 0.0

    def seconds(self, size: Array, cluster: Cluster, way: Way = USUAL) -> Array:
        """Time of `size` bytes; both tiers work at once."""
        facts = tiers()
        nvlink, nic = cluster.nvlink * way.nvlink, cluster.nic * way.nic
        wire = np.maximum(size * self.inside / nvlink, size * self.outside / nic)
        wire = np.maximum(wire, self.posting)
        start = self.near * facts.nvlink_start + self.far * facts.nic_send + self.extra
        return np.asarray(start + wire)


def costs(operation: Operation, place: Place, cluster: Cluster) -> dict[str, Cost]:
    """Every textbook algorithm for an operation, by name."""
    if operation == "all_to_all":
        return _exchanges(place, cluster)
    if operation == "broadcast":
        return _spreads(place)
    return _reductions(operation, place, cluster)


def seconds(
    operation: Operation,
    size: npt.ArrayLike,
    place: Place,
    cluster: Cluster,
    way: Way = USUAL,
) -> dict[str, Array]:
    """Time of buffers of `size` bytes under each, s, never below the bound."""
    size = np.asarray(size, np.float64)
    floor = bound(operation, size, place, cluster, way)
    return {
        name: np.maximum(each.seconds(size, cluster, way), floor)
        for name, each in costs(operation, place, cluster).items()
    }


def _reductions(operation: Operation, place: Place, cluster: Cluster) -> dict[str, Cost]:
    """All-reduce: twice what all-gather and reduce-scatter take, but in switches."""
    ranks, local, domains = place.ranks, place.per_domain, place.domains
    passes = 2 if operation == "all_reduce" else 1
    share, across = wire_share(operation, ranks), wire_share(operation, domains) / local
    near, far = ceil(log2(local)), ceil(log2(domains))
    ring_far = passes * domains if domains > 1 else 0
    found = {
        "ring": Cost(
            passes * (ranks - 1) - ring_far, ring_far, share, share / local if domains > 1 else 0.0
        ),
        "halving_doubling": Cost(passes * near, passes * far, share, across),
        "hierarchical": Cost(passes * (local - 1), passes * max(domains - 1, 0), share, across),
    }
    if operation == "all_reduce":
        found["double_tree"] = Cost(2 * near, 2 * far, 2.0, 2.0 / local if domains > 1 else 0.0)
    else:
        found["pat"] = Cost(near, far, share, across)
    if local > 1:  # the NVLink switch reduces, or multiplies
        inside = 1.0 if operation == "all_reduce" else share
        found["hierarchical_nvls"] = Cost(passes, passes * far, inside, across)
        if domains > 1 and not sharp.refusal(place, cluster):
            up = 1.0 / local if operation == "all_reduce" else across
            tree = passes * sharp.latency(place, cluster)
            found["hierarchical_nvls_sharp"] = Cost(passes, 0, inside, up, tree)
    return found


def _spreads(place: Place) -> dict[str, Cost]:
    near, far = ceil(log2(place.per_domain)), ceil(log2(place.domains))
    cross = 1.0 / place.per_domain if place.domains > 1 else 0.0
    return {
        "chain": Cost(place.ranks - place.domains, place.domains - 1, 1.0, cross),
        "double_tree": Cost(near, far, 1.0, cross),
    }


def _exchanges(place: Place, cluster: Cluster) -> dict[str, Cost]:
    """direct: a message to every rank. pxn: through the GPU whose NIC is on the peer's rail."""
    ranks, local = place.ranks, place.per_domain
    outside = 1.0 - local / ranks
    inside, posts = (local - 1) / ranks, float(tiers().post)
    levels = ceil(log2(ranks))
    found = {
        "direct": Cost(1, int(outside > 0), inside, outside, posting=posts * (ranks - local)),
        "bruck": Cost(
            ceil(log2(local)), ceil(log2(place.domains)), levels / 2, outside and levels / 2
        ),
    }
    if outside > 0 and local > 1:
        gathered = inside + outside * (local - 1) / local
        found["pxn"] = Cost(2, 1, gathered, outside, posting=posts * (place.domains - 1))
    return found
