"""Collectives of a group of GPUs where they really sit.

Sizes follow nccl-tests (see `volume`). Zero bytes and a group of one cost nothing: no kernel is
launched. `Priced.bytes` is what one rank sends per direction; joules are those of the links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.kernels.priced import Priced
from racktwin.network import domain, hierarchy
from racktwin.network.curve import Array
from racktwin.network.fabric import Framework, engine, tiers
from racktwin.network.hierarchy import Mode
from racktwin.network.volume import Operation, wire_share

if TYPE_CHECKING:
    from racktwin.hardware import Cluster, Place


def all_reduce(
    size: npt.ArrayLike,
    place: Place,
    cluster: Cluster,
    framework: Framework | None = None,
    mode: Mode = "nccl",
) -> Priced:
    """All-reduce of a buffer of `size` bytes per rank.

    With a framework, its own all-reduce as CUDA graphs run it where that was measured (the curve
    includes the engine's own switch to NCCL for large buffers); NCCL otherwise.
    """
    if framework is not None and 1 < place.ranks <= place.per_domain:
        curve = engine().curves.get(cluster.chip.tables, {}).get(framework, {}).get(place.ranks)
        if curve is not None:
            buffer = np.asarray(size, np.float64)
            time = np.maximum(curve.seconds(buffer), buffer / cluster.nvlink)
            name = f"{cluster.chip.tables} {framework} all_reduce x{place.ranks}"
            return _priced("all_reduce", buffer, time, Evidence("measured", name), place)
    return _collective("all_reduce", size, place, cluster, mode)


def all_gather(size: npt.ArrayLike, place: Place, cluster: Cluster, mode: Mode = "nccl") -> Priced:
    """All-gather whose gathered output holds `size` bytes."""
    return _collective("all_gather", size, place, cluster, mode)


def reduce_scatter(
    size: npt.ArrayLike, place: Place, cluster: Cluster, mode: Mode = "nccl"
) -> Priced:
    """Reduce-scatter of an input of `size` bytes per rank."""
    return _collective("reduce_scatter", size, place, cluster, mode)


def all_to_all(size: npt.ArrayLike, place: Place, cluster: Cluster, mode: Mode = "nccl") -> Priced:
    """All-to-all where every rank sends `size` bytes, an equal part to each rank (own included)."""
    return _collective("all_to_all", size, place, cluster, mode)


def _collective(
    operation: Operation, size: npt.ArrayLike, place: Place, cluster: Cluster, mode: Mode
) -> Priced:
    buffer = np.asarray(size, np.float64)
    if place.ranks < 2:
        return _priced(operation, buffer, np.zeros_like(buffer), ALONE, place)
    if place.ranks <= place.per_domain:
        time, evidence = domain.seconds(operation, buffer, place.ranks, cluster)
    else:
        time, evidence = hierarchy.seconds(operation, buffer, place, cluster, mode)
    return _priced(operation, buffer, time, evidence, place)


ALONE = Evidence("formula", "a group of one rank moves nothing")


def _priced(
    operation: Operation, size: Array, time: Array, evidence: Evidence, place: Place
) -> Priced:
    return moved(
        size * wire_share(operation, place.ranks), np.where(size > 0, time, 0.0), evidence, place
    )


def moved(wire: Array, time: Array, evidence: Evidence, place: Place) -> Priced:
    """The price of sending `wire` bytes per rank in `time`, with the energy of the links."""
    across = max(place.ranks - place.per_domain, 0) / place.ranks if place.ranks else 0.0
    facts = tiers()
    joules = wire * (facts.nvlink_energy.value + across * facts.nic_energy.value)
    wire, time, joules = np.broadcast_arrays(wire, time, joules)
    return Priced(time, np.zeros_like(time), wire, joules, evidence)
