"""NCCL inside one NVLink domain: a measured curve, else the rule of the generation."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster, Place
from racktwin.network.channels import Group, group
from racktwin.network.curve import Array
from racktwin.network.fabric import generation, nccl
from racktwin.network.nccl import chosen, paths, quickest
from racktwin.network.volume import Operation, least_share, wire_share
from racktwin.network.way import USUAL, Way

LARGE = 2.0**36  # bytes of a message whose time is all bandwidth
LIKE: dict[Operation, Operation] = {"broadcast": "all_gather"}
"""What nobody measured, and the operation that moves the same bytes along the same rings."""


def seconds(
    operation: Operation,
    size: npt.ArrayLike,
    ranks: int,
    cluster: Cluster,
    way: Way = USUAL,
) -> tuple[Array, Evidence]:
    """Time of `size` bytes among `ranks` GPUs that share NVLink switches, never below line rate.

    Beyond the largest size measured a curve goes on in the shape of the rule.
    """
    size = np.asarray(size, np.float64)
    if like := LIKE.get(operation):
        alike = size * wire_share(operation, ranks) / wire_share(like, ranks)
        time, evidence = seconds(like, alike, ranks, cluster, way)
        return time, Evidence("formula", f"{operation} as {evidence.name}")
    time, evidence = _measured(operation, size, ranks, cluster)
    if way.algorithm:
        time = _held(way.algorithm, operation, size, time, ranks, cluster)
        evidence = Evidence("formula", f"{evidence.name}, {way.algorithm} by NCCL's model")
    if way.nvlink < 1:
        start = _measured(operation, np.asarray(0.0), ranks, cluster)[0]
        time = start + np.maximum(time - start, 0.0) / way.nvlink
        evidence = Evidence("formula", f"{evidence.name}, {way.nvlink:.1%} of the links left")
    line = cluster.nvlink * way.nvlink
    return np.maximum(time, size * least_share(operation, ranks) / line), evidence


def _measured(
    operation: Operation, size: Array, ranks: int, cluster: Cluster
) -> tuple[Array, Evidence]:
    """The curve of a system or its sibling, else the rule."""
    fits, system = nccl(), cluster.chip.tables
    family = generation(cluster.chip.family)
    rule = fits.rules[family][operation]
    for name in (system, fits.sibling.get(system, "")):
        curve = fits.curves.get(name, {}).get(operation, {}).get(str(ranks))
        if curve is not None:
            most = curve.largest
            beyond = rule.seconds(operation, np.maximum(size, most), ranks)
            beyond = beyond / rule.seconds(operation, most, ranks)
            time = curve.seconds(np.minimum(size, most)) * beyond
            lent = "" if name == system else f" of {name}"
            evidence = Evidence("measured", f"{system} NCCL {operation} x{ranks}{lent}")
            break
    else:
        time = rule.seconds(operation, size, ranks, _only(operation, ranks, cluster))
        evidence = Evidence("formula", f"NCCL rule of {family}: {operation} x{ranks}, not measured")
    return time, evidence


def _only(operation: Operation, ranks: int, cluster: Cluster) -> Literal["", "switch"]:
    """'switch' where NCCL lets the switch reduce the smallest messages too: beyond 16 ranks."""
    if operation != "all_reduce":
        return ""
    seen = group(Place(ranks, ranks, ranks), cluster)
    found = paths(operation, seen)
    return "switch" if found[int(chosen(operation, 1.0, found, seen))].algorithm == "nvls" else ""


def _held(
    algorithm: str, operation: Operation, size: Array, time: Array, ranks: int, cluster: Cluster
) -> Array:
    """Time under an algorithm, from that under NCCL's choice.

    Rings and the reducing switch by the fitted rule, which holds both; others by NCCL's own model,
    against its rings: their start-up, and their bandwidth.
    """
    rule = nccl().rules[generation(cluster.chip.family)][operation]
    only, nothing = _only(operation, ranks, cluster), np.asarray(0.0)
    start = _measured(operation, nothing, ranks, cluster)[0]
    usual = rule.seconds(operation, size, ranks, only)
    if algorithm == "nvls" and rule.in_switch:
        ends = np.array([0.0, LARGE])
        ratio = rule.seconds(operation, ends, ranks, "switch")
        ratio = ratio / rule.seconds(operation, ends, ranks, only)
        return np.asarray(start * ratio[0] + np.maximum(time - start, 0.0) * ratio[1])
    found = group(Place(ranks, ranks, ranks), cluster)
    ring = time * rule.seconds(operation, size, ranks, "ring") / usual
    if algorithm == "ring":
        planned = size * wire_share(operation, ranks) / found.nvlink
        return np.asarray(np.maximum(ring, time * planned / usual))
    start = start * rule.seconds(operation, nothing, ranks, "ring")
    start = start / rule.seconds(operation, nothing, ranks, only)
    starts, wires = against("ring", algorithm, operation, found)
    return np.asarray(start * starts + np.maximum(ring - start, 0.0) * wires)


def against(usual: str, algorithm: str, operation: Operation, seen: Group) -> tuple[float, float]:
    """An algorithm over a usual one: start-up, and time of a large message, each a ratio."""
    ends = np.array([1.0, LARGE])
    ratio = quickest(algorithm, operation, ends, seen) / quickest(usual, operation, ends, seen)
    return float(ratio[0]), float(ratio[1])
