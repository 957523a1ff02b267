"""How far a collective's estimate may lie off: from sizes and rank counts predicted unseen."""

from __future__ import annotations

from racktwin.hardware import Cluster, Place
from racktwin.network import domain
from racktwin.network.curve import Array
from racktwin.network.fabric import generation, nccl, tiers
from racktwin.network.volume import Operation
from racktwin.network.way import Way


def relative(operation: Operation, place: Place, cluster: Cluster, way: Way) -> float:
    """What nine of ten errors stay below, a ratio: of a curve, of the rule, or over domains."""
    operation = domain.LIKE.get(operation, operation)
    if place.domains > 1:
        return float(tiers().between_error)
    fits, system = nccl(), cluster.chip.tables
    for name in (system, fits.sibling.get(system, "")):
        curve = fits.curves.get(name, {}).get(operation, {}).get(str(place.ranks))
        if curve is not None and curve.error is not None and not way.algorithm:
            return curve.error.held_p90
    rule = fits.rules[generation(cluster.chip.family)][operation]
    return rule.error.held_p90 if rule.error else float(tiers().between_error)


def spread(
    time: Array, operation: Operation, place: Place, cluster: Cluster, way: Way
) -> tuple[Array, Array]:
    """The interval round `time`, s."""
    error = relative(operation, place, cluster, way)
    return time / (1 + error), time * (1 + error)
