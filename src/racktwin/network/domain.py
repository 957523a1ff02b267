"""NCCL inside one NVLink domain: a measured curve, else the rule of the generation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.hardware import Cluster
from racktwin.network.curve import Array
from racktwin.network.fabric import generation, nccl
from racktwin.network.volume import Operation, least_share


def seconds(
    operation: Operation, size: npt.ArrayLike, ranks: int, cluster: Cluster
) -> tuple[Array, Evidence]:
    """Time of `size` bytes among `ranks` GPUs that share NVLink switches, never below line rate.

    Beyond the largest size measured a curve goes on in the shape of the rule.
    """
    size = np.asarray(size, np.float64)
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
        time = rule.seconds(operation, size, ranks)
        evidence = Evidence("formula", f"NCCL rule of {family}: {operation} x{ranks}, not measured")
    return np.maximum(time, size * least_share(operation, ranks) / cluster.nvlink), evidence
