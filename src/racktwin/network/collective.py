"""Collectives of a group of GPUs where they really sit.

Sizes follow nccl-tests (see `volume`). Zero bytes and a group of one cost nothing: no kernel is
launched. Without a `way` the cluster's fabric carries them as it stands (`standing`).
`Priced.bytes` is what one rank sends per direction; joules are those of the links.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster, Place
from racktwin.kernels.priced import Priced
from racktwin.network import domain, hierarchy
from racktwin.network.bound import bound
from racktwin.network.curve import Array
from racktwin.network.fabric import Framework, engine, nccl, tiers
from racktwin.network.standing import standing
from racktwin.network.volume import Operation, wire_share
from racktwin.network.way import Way

ALONE = Evidence("formula", "no work")


def all_reduce(
    size: npt.ArrayLike,
    place: Place,
    cluster: Cluster,
    framework: Framework | None = None,
    way: Way | None = None,
) -> Priced:
    """All-reduce of a buffer of `size` bytes per rank.

    With a framework, its own all-reduce as CUDA graphs run it where that was measured (the curve
    holds the engine's own switch to NCCL for large buffers); NCCL otherwise.
    """
    buffer = np.asarray(size, np.float64)
    if framework is not None and way is None and 1 < place.ranks <= place.per_domain:
        own = cluster.chip.tables
        for system in (own, nccl().sibling.get(own, "")):
            curves = engine().curves.get(system, {}).get(framework, {})
            if curve := curves.get(str(place.ranks)):
                time = np.maximum(
                    curve.seconds(buffer), bound("all_reduce", buffer, place, cluster)
                )
                lent = "" if system == own else f" of {system}"
                name = f"{own} {framework} all_reduce x{place.ranks}{lent}"
                return _priced("all_reduce", buffer, time, Evidence("measured", name), place)
    return _collective("all_reduce", buffer, place, cluster, way)


def all_gather(
    size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way | None = None
) -> Priced:
    """All-gather whose gathered output holds `size` bytes."""
    return _collective("all_gather", size, place, cluster, way)


def reduce_scatter(
    size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way | None = None
) -> Priced:
    """Reduce-scatter of an input of `size` bytes per rank."""
    return _collective("reduce_scatter", size, place, cluster, way)


def all_to_all(
    size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way | None = None
) -> Priced:
    """All-to-all where every rank sends `size` bytes, an equal part to each rank (own included)."""
    return _collective("all_to_all", size, place, cluster, way)


def broadcast(
    size: npt.ArrayLike, place: Place, cluster: Cluster, way: Way | None = None
) -> Priced:
    """Broadcast of a buffer of `size` bytes from one rank to all."""
    return _collective("broadcast", size, place, cluster, way)


def moved(wire: Array, time: Array, evidence: Evidence, place: Place) -> Priced:
    """The price of `wire` bytes sent per rank in `time` seconds, with the energy of the links."""
    across = 1 - min(place.per_domain / place.ranks, 1.0)
    per_byte = float(tiers().nvlink_energy) + across * float(tiers().nic_energy)
    wire, time = np.broadcast_arrays(np.asarray(wire), np.asarray(time))
    return Priced(time, np.zeros_like(wire), wire, np.asarray(wire * per_byte), evidence)


def _collective(
    operation: Operation,
    size: npt.ArrayLike,
    place: Place,
    cluster: Cluster,
    way: Way | None,
) -> Priced:
    buffer = np.asarray(size, np.float64)
    way = standing(operation, place, cluster) if way is None else way
    if place.ranks < 2:
        return moved(0 * buffer, 0 * buffer, ALONE, place)
    if place.ranks <= place.per_domain:
        time, evidence = domain.seconds(operation, buffer, place.ranks, cluster, way)
    else:
        time, evidence = hierarchy.seconds(operation, buffer, place, cluster, way)
    return _priced(operation, buffer, time, evidence, place)


def _priced(
    operation: Operation, size: Array, time: Array, evidence: Evidence, place: Place
) -> Priced:
    sent = size * wire_share(operation, place.ranks)
    return moved(sent, np.where(size > 0, time, 0.0), evidence, place)
