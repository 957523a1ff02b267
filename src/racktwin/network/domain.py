"""NCCL inside one NVLink domain: a measured curve, else the rule of the generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.network.curve import Array
from racktwin.network.fabric import generation, nccl
from racktwin.network.volume import Operation, least_share, wire_share

if TYPE_CHECKING:
    from racktwin.hardware import Cluster


def seconds(
    operation: Operation, size: npt.ArrayLike, ranks: int, cluster: Cluster
) -> tuple[Array, Evidence]:
    """Time of `size` bytes among `ranks` GPUs that share NVLink switches, never below line rate."""
    size = np.asarray(size, np.float64)
    fits, system = nccl(), cluster.chip.tables
    for name in (system, fits.sibling.get(system, system)):
        curve = fits.curves.get(name, {}).get(operation, {}).get(ranks)
        if curve is not None:
            lent = "" if name == system else f", lent to {system}"
            evidence = Evidence("measured", f"{name} NCCL {operation} x{ranks}{lent}")
            time = curve.seconds(size)
            break
    else:
        family = generation(cluster.chip.family)
        time = fits.rules[family][operation].seconds(size * wire_share(operation, ranks), ranks)
        evidence = Evidence(
            "formula", f"NCCL rule of {family}, {operation} x{ranks} (not measured)"
        )
    return np.maximum(time, size * least_share(operation, ranks) / cluster.nvlink), evidence
