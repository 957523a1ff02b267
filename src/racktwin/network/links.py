"""The links of a fabric under a routing, numbered, with what each carries.

Where packets spread over all paths a leaf's uplinks are one bundle; where each flow keeps a path
every cable is a link of its own. Sprayed packets fill the weakest of a bundle first: its
capacity is the number of live cables times the weakest of them. Adaptive ones use all that is left.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from racktwin.network.fabric import tiers
from racktwin.network.health import Health, Share
from racktwin.network.problem import Floats, Ints
from racktwin.network.routing import Routing, nic_efficiency, transport
from racktwin.network.tier import (
    LEAF_DOWN,
    LEAF_UP,
    NIC_IN,
    NIC_OUT,
    NVLINK_IN,
    NVLINK_OUT,
    SPINE_DOWN,
    SPINE_UP,
    TIERS,
)

BETWEEN = (LEAF_UP, SPINE_UP, SPINE_DOWN, LEAF_DOWN)  # tiers between switches


class Links:
    """Every direction of every link: link = offset of its tier + its number within."""

    def __init__(self, health: Health, routing: Routing) -> None:
        self.health, self.routing, self.topology = health, routing, health.topology
        self.bundled = transport(routing) != "static"
        tree = self.topology.tree
        self.trunk = tree.pod_leaves * tree.links if tree.group_cores else 0  # widest, ports
        leaf = self.topology.leaves * (min(tree.up, 1) if self.bundled else tree.up)
        spine = self.topology.pods * (min(self.trunk, 1) if self.bundled else self.trunks)
        ports = self.topology.nics * self.topology.planes
        sizes = [self.topology.gpus] * 2 + [ports, leaf, spine, spine, leaf, ports]
        self.offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def trunks(self) -> int:
        """Numbers set aside for the spine ports of a pod."""
        return self.topology.tree.pod_spines * self.trunk

    @property
    def count(self) -> int:
        """All links."""
        return int(self.offset[-1])

    @cached_property
    def tier(self) -> Ints:
        """Tier of each link."""
        return np.repeat(np.arange(len(TIERS)), np.diff(self.offset))

    @cached_property
    def line(self) -> Floats:
        """B/s each link carries at line rate, faults considered."""
        topology, health = self.topology, self.health
        nvlink = health.nvlink() * topology.cluster.nvlink
        ports = health.nics() * (topology.host.nic / topology.planes)
        leaf = self._leaves() * float(topology.fabric.switch.rate)
        spine = self._spines() * float(topology.fabric.switch.rate)
        return np.concatenate([nvlink, nvlink, ports, leaf, spine, spine, leaf, ports])

    @cached_property
    def whole(self) -> bool:
        """Whether nothing is broken and every number is a link, so that no path need be tried."""
        return not self.health.faults and bool((self.line > 0).all())

    @cached_property
    def capacity(self) -> Floats:
        """B/s that messages reach on each: NICs and NVLink below their line rate."""
        share = np.ones(len(TIERS))
        share[[NVLINK_OUT, NVLINK_IN]] = float(tiers().copy_efficiency)
        share[[NIC_OUT, NIC_IN]] = nic_efficiency(self.topology.cluster)
        return np.asarray(self.line * share[self.tier])

    def of(self, tier: int, number: npt.ArrayLike) -> Ints:
        """Links by their number (count) within a tier."""
        return np.asarray(self.offset[tier] + np.asarray(number), np.int64)

    def name(self, link: int) -> str:
        """'leaf7 port 85, up' or 'rack3/host2/1, NIC in'."""
        topology, tree = self.topology, self.topology.tree
        tier = int(self.tier[link])
        number, word = int(link - self.offset[tier]), TIERS[tier].split("_")[1]
        if tier in (NVLINK_OUT, NVLINK_IN):
            return f"{topology.gpu_name(number)}, NVLink {word}"
        if tier in (NIC_OUT, NIC_IN):
            nic, plane = divmod(number, topology.planes)
            planes = f" plane {plane}" if topology.planes > 1 else ""
            return f"{topology.gpu_name(topology.gpu_of(nic))}, NIC{planes} {word}"
        each = 1 if self.bundled else tree.up if tier in (LEAF_UP, LEAF_DOWN) else self.trunks
        owner, port = divmod(number, each)
        if tier in (LEAF_UP, LEAF_DOWN):
            cable = "uplinks" if self.bundled else f"port {tree.down + port}"
            return f"{topology.leaf_name(owner)} {cable}, {word}"
        if self.bundled:
            return f"pod{owner} to cores, {word}"
        spine, port = divmod(port, self.trunk)
        return f"spine{owner * tree.pod_spines + spine} port {port} to cores, {word}"

    def _leaves(self) -> Share:
        """Shares of uplinks: one by one, or how many cables' worth a bundle carries."""
        topology, tree = self.topology, self.topology.tree
        each = 1 if self.bundled else tree.up
        left = np.full(topology.leaves * min(each, tree.up), float(tree.up if self.bundled else 1))
        for leaf in self.health.hurt_leaves:
            share = self.health.uplinks(leaf)
            left[leaf * each : (leaf + 1) * each] = self._bundle(share) if self.bundled else share
        return left

    def _spines(self) -> Share:
        """The same for the ports of a pod's spines towards cores."""
        topology, tree = self.topology, self.topology.tree
        if not self.trunk:
            return np.zeros(0)
        hurt = dict.fromkeys(self.health.hurt_trunks)
        if self.bundled:
            whole = [
                float(tree.spine_up(pod % tree.pods) * tree.pod_spines)
                for pod in range(topology.pods)
            ]
            for pod in {pod for pod, _ in hurt}:
                shares = [self.health.trunk(pod, spine) for spine in range(tree.pod_spines)]
                whole[pod] = self._bundle(np.concatenate(shares))
            return np.asarray(whole)
        left = np.zeros((topology.pods, tree.pod_spines, self.trunk))
        for pod in range(topology.pods):
            left[pod, :, : tree.spine_up(pod % tree.pods)] = 1.0
        for pod, spine in hurt:
            share = self.health.trunk(pod, spine)
            left[pod, spine, : len(share)] = share
        return left.reshape(-1)

    def _bundle(self, share: Share) -> float:
        alive = share[share > 0]
        if not len(alive):
            return 0.0
        return float(alive.sum() if self.routing != "spray" else len(alive) * alive.min())
