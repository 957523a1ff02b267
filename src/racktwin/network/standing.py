"""How a cluster's own fabric carries a collective where nobody says otherwise.

SHARP where its file says so and its switches can; what oversubscription leaves of the NICs.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from racktwin.hardware import Cluster, Place
from racktwin.network import sharp
from racktwin.network.left import left
from racktwin.network.way import USUAL, Way


class _Seen:
    """A cluster as a key: equal where its description is."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.text = msgspec.msgpack.encode(cluster, enc_hook=float)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self.text == other.text


def standing(operation: str, place: Place, cluster: Cluster) -> Way:
    """The way of `operation` among the ranks of `place`, side by side from the first domain on."""
    if place.domains < 2:
        return USUAL
    reduces = cluster.fabric.sharp and not sharp.refusal(place, cluster)
    way = Way(sharp=reduces)
    if cluster.fabric.oversubscription <= 1:
        return way
    share = _share(operation, place, _Seen(cluster))
    return msgspec.structs.replace(way, nic=share, domain=share)


@lru_cache(maxsize=4096)
def _share(operation: str, place: Place, seen: _Seen) -> float:
    """What is left of the NICs behind the busiest uplinks."""
    cluster = seen.cluster
    stride = max(1, cluster.gpus_per_domain // place.per_domain)
    gpus = np.arange(place.ranks, dtype=np.int64) * stride
    return left(operation, gpus[gpus < cluster.gpus], cluster).nic
