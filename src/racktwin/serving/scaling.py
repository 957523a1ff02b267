"""Autoscaling: how many replicas a scope is to have, by what they have to do.

Kubernetes' Horizontal Pod Autoscaler on a metric summed over the pool (source 15 of
docs/background/scheduling.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Ints

OUTSTANDING, KV, PREFILL = range(3)  # metrics, as in `engine.autoscale`


class Scaling(NamedTuple):
    """Bounds and pace of each scope.

    least, most: replicas. metric: see above; target: of a replica, in requests, fraction or tokens.
    interval: s between ticks, inf: no autoscaling. tolerance: 1. growth: factor, steps: count of
    replicas that one tick may add. start_up: s. advice: (scope, tick) replicas advised in the last
    ticks.
    """

    least: int
    most: int
    metric: int
    target: float
    interval: float
    tolerance: float
    growth: float
    steps: int
    start_up: float
    advice: Ints


def no_scaling() -> Scaling:
    """There are as many replicas as there are."""
    return Scaling(0, 0, 0, 1.0, np.inf, 0.0, 1.0, 0, 0.0, np.zeros((1, 1), np.int64))


@compiled
def tick_after(scaling: Scaling, ticks: int) -> float:
    """When the next tick is, s; so many were."""
    if scaling.interval == np.inf:
        return np.inf
    return (ticks + 1) * scaling.interval


@compiled
def advised(scaling: Scaling, total: float, current: int) -> int:
    """Replicas that a total of the metric (any unit) is the target of; as now when it is close."""
    if current and abs(total / (scaling.target * current) - 1.0) <= scaling.tolerance:
        return current
    return int(np.ceil(min(total / scaling.target, float(scaling.most))))


@compiled
def wanted(scaling: Scaling, scope: int, tick: int, total: float, current: int) -> int:
    """Replicas a scope is to have after tick number `tick`; total: of the metric (any unit)."""
    ticks = scaling.advice.shape[1]
    advice = advised(scaling, total, current)
    scaling.advice[scope, tick % ticks] = advice
    keep = advice
    for each in range(ticks):
        keep = max(keep, scaling.advice[scope, each])
    found = min(max(current, advice), keep)
    if found > current:
        more = max(int(np.ceil(current * scaling.growth)), current + scaling.steps)
        found = min(found, more)
    return min(max(found, scaling.least), scaling.most)
