"""How long the first byte of a flow and its acknowledgement travel, by the tiers it passes."""

from __future__ import annotations

import numpy as np

from racktwin.hardware import Cluster
from racktwin.network.problem import Floats, Problem
from racktwin.network.routing import one_way, path
from racktwin.network.tier import LEAF_UP, NIC_OUT, NVLINK_OUT, SPINE_UP


def round_trips(problem: Problem, cluster: Cluster) -> Floats:
    """Delay of each class beside its bytes, s: the way there and back of its longest path."""
    first = problem.head[:-1]

    def passes(tier: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.maximum.reduceat(problem.tier[problem.link] == tier, first)

    switch = cluster.rack.switch or cluster.rack.host.switch
    nvlink = 2 * float(path().nvlink_delay) + (float(switch.latency) if switch else 0.0)
    switches = np.where(passes(SPINE_UP), 5, np.where(passes(LEAF_UP), 3, 1))
    fabric = np.array([one_way(cluster, count) for count in range(6)])[switches]
    there = passes(NVLINK_OUT) * nvlink + passes(NIC_OUT) * fabric
    return np.asarray(2 * there)
