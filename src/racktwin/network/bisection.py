"""Bandwidth between two halves of a fabric, whole and with faults."""

from __future__ import annotations

import numpy as np

from racktwin.network.health import Health


def bisection(health: Health) -> float:
    """B/s one way between two equal halves of the hosts, at line rate.

    In each network the half that sends is limited by its NICs, its leaves' uplinks and its spines'
    ports to cores; the least of the three counts. Traffic over NVLink is not in it.
    """
    topology = health.topology
    tree, rate = topology.tree, float(topology.fabric.switch.rate)
    nics = health.nics() * (topology.host.nic / topology.planes)
    total = 0.0
    lost_up = _lost(topology.trees, health, rate)
    for plane in range(topology.planes):
        leaf, _ = topology.plug(np.arange(topology.nics), plane)
        of_tree = leaf // tree.leaves
        sent = np.bincount(of_tree, nics[plane :: topology.planes], minlength=topology.trees)
        for number in np.unique(of_tree):
            limits = [sent[number]]
            if tree.up:
                limits.append(tree.trunks[0] * rate - lost_up[0][number])
            if tree.group_cores:
                limits.append(tree.trunks[1] * rate - lost_up[1][number])
            total += min(limits) / 2
    return float(total)


def _lost(trees: int, health: Health, rate: float) -> tuple[list[float], list[float]]:
    """B/s that each network's uplinks of leaves, and of spines, have lost."""
    tree = health.topology.tree
    leaves, spines = [0.0] * trees, [0.0] * trees
    for leaf in health.hurt_leaves:
        leaves[leaf // tree.leaves] += rate * float((1 - health.uplinks(leaf)).sum())
    for pod, spine in health.hurt_trunks:
        spines[pod // tree.pods] += rate * float((1 - health.trunk(pod, spine)).sum())
    return leaves, spines
