"""What faults leave of a fabric: shares of links that still carry, and ranks that are cut off.

Only what differs from a whole fabric is kept; shares are fractions of line rate, both directions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from racktwin.network.fault import Fault
from racktwin.network.topology import Topology

Share = npt.NDArray[np.float64]


class Health:
    """The state of every link of a topology, as shares (fraction) of its line rate."""

    def __init__(self, topology: Topology, faults: Iterable[Fault] = ()) -> None:
        self.topology, self.faults = topology, tuple(faults)
        self.ports: dict[tuple[int, int], float] = {}  # leaf, port -> share
        self.dead_nics: dict[int, Fault] = {}
        self.dead_leaves: dict[int, Fault] = {}
        self.dead_spines: set[tuple[int, int]] = set()  # pod, spine of it
        self.dead_cores: set[tuple[int, int, int]] = set()  # network, group, core of it
        self.asics: dict[int, set[int]] = defaultdict(set)  # domain -> dead ASICs
        self.slow: dict[int, float] = {}  # GPU -> share
        planes: dict[tuple[int, int], set[int]] = defaultdict(set)
        for fault in self.faults:
            self._add(fault, planes)
        whole = topology.fabric.switch.planes
        for port, dead in planes.items():
            self.ports[port] = self.ports.get(port, 1.0) * (1 - len(dead) / whole)

    def _add(self, fault: Fault, planes: dict[tuple[int, int], set[int]]) -> None:
        place, tree = fault.place, self.topology.tree
        match fault.kind:
            case "nic":
                self.dead_nics[place[0]] = fault
            case "slow":
                self.slow[place[0]] = min(fault.amount, self.slow.get(place[0], 1.0))
            case "leaf":
                self.dead_leaves[place[0]] = fault
            case "spine":
                pod, spine = divmod(place[0], tree.pod_spines)
                self.dead_spines.add((pod, spine))
            case "core":
                network, inner = divmod(place[0], tree.cores)
                self.dead_cores.add((network, *divmod(inner, tree.group_cores)))
            case "cable":
                self.ports[place[0], place[1]] = 0.0
            case "flap":
                share = self.ports.get((place[0], place[1]), 1.0)
                self.ports[place[0], place[1]] = share * (1 - fault.amount)
            case "plane":
                planes[place[0], place[1]].add(place[2])
            case "asic":
                self.asics[place[0]].add(place[1])
            case "tray":
                each = self.topology.asics // self.topology.cluster.rack.trays
                self.asics[place[0]] |= set(range(place[1] * each, (place[1] + 1) * each))

    def nics(self) -> Share:
        """Share of each NIC port: index = NIC x planes + plane."""
        topology = self.topology
        left = np.ones(topology.nics * topology.planes)
        for nic in self.dead_nics:
            left[nic * topology.planes : (nic + 1) * topology.planes] = 0.0
        hosts = {(leaf, port): share for (leaf, port), share in self.ports.items()}
        hosts |= {(leaf, p): 0.0 for leaf in self.dead_leaves for p in range(topology.tree.down)}
        for (leaf, port), share in hosts.items():
            found = topology.plugged(leaf, port) if port < topology.tree.down else None
            if found is not None:
                plane = leaf // topology.tree.leaves % topology.planes
                left[found * topology.planes + plane] *= share
        for gpu, share in self.slow.items():
            for lane in range(topology.lanes):
                nic = int(topology.nic_of(np.asarray(gpu), lane))
                left[nic * topology.planes + lane % topology.planes] *= share
        return left

    def nvlink(self) -> Share:
        """Share of each GPU's NVLink bandwidth."""
        topology = self.topology
        left = np.ones(topology.gpus)
        for domain, dead in self.asics.items():
            first = domain * topology.domain
            left[first : first + topology.domain] = 1 - len(dead) / topology.asics
        for gpu, share in self.slow.items():
            left[gpu] *= share
        return left

    def uplinks(self, leaf: int) -> Share:
        """Share of each uplink of a leaf."""
        tree = self.topology.tree
        left = np.ones(tree.up)
        if leaf in self.dead_leaves:
            return np.zeros(tree.up)
        for (own, port), share in self.ports.items():
            if own == leaf and port >= tree.down:
                left[port - tree.down] *= share
        pod = int(self.topology.pod_of(np.asarray(leaf)))
        for own, spine in self.dead_spines:
            if own == pod:
                left[spine * tree.links : (spine + 1) * tree.links] = 0.0
        return left

    def trunk(self, pod: int, spine: int) -> Share:
        """Share of each port of a spine towards its cores."""
        tree = self.topology.tree
        network, inner = divmod(pod, tree.pods)
        left = np.ones(tree.spine_up(inner))
        if (pod, spine) in self.dead_spines:
            return np.zeros_like(left)
        for own, group, core in self.dead_cores:
            if own == network and group == spine:
                left[core :: tree.group_cores] = 0.0
        return left

    @property
    def hurt_leaves(self) -> list[int]:
        """Leaves with an uplink that is not whole."""
        tree = self.topology.tree
        found = {leaf for leaf, port in self.ports if port >= tree.down} | set(self.dead_leaves)
        for pod, _ in self.dead_spines:
            found |= set(self.topology.leaves_in(pod))
        return sorted(found) if tree.up else []

    @property
    def hurt_trunks(self) -> list[tuple[int, int]]:
        """Spines (pod, position) with a port towards cores that is not whole."""
        tree = self.topology.tree
        if not tree.group_cores:
            return []
        found = set(self.dead_spines)
        for network, group, _ in self.dead_cores:
            found |= {(network * tree.pods + pod, group) for pod in range(tree.pods)}
        return sorted(found)

    def cut(self) -> dict[int, str]:
        """GPUs that reach nobody outside their NVLink domain -> the fault that did it."""
        topology = self.topology
        left = self.nics()
        reasons: dict[int, str] = {}
        for nic in np.unique(np.flatnonzero(left == 0.0) // topology.planes):
            first = topology.gpu_of(int(nic))
            each = max(1, topology.host.gpus // topology.host.nics)
            for gpu in range(first, first + each):
                if not any(left[self.port(gpu, lane)] for lane in range(topology.lanes)):
                    reasons[gpu] = self._reason(int(nic))
        return self._stranded(left, reasons)

    def _stranded(self, left: Share, reasons: dict[int, str]) -> dict[int, str]:
        """The same with GPUs whose leaves have no uplink left, and nobody else plugged in."""
        topology = self.topology
        islands = [leaf for leaf in self.hurt_leaves if not self.uplinks(leaf).any()]
        if not islands:
            return reasons
        gpus = np.arange(topology.gpus)
        lanes = range(topology.lanes)
        nics = [topology.nic_of(gpus, lane) for lane in lanes]
        planes = [lane % topology.planes for lane in lanes]
        leaf = np.array([topology.plug(n, p)[0] for n, p in zip(nics, planes, strict=True)])
        alive = np.array([left[n * topology.planes + p] for n, p in zip(nics, planes, strict=True)])
        domain = np.broadcast_to(topology.domain_of(gpus), leaf.shape)
        away = alive > 0
        for island in islands:
            here = away & (leaf == island)
            if len(np.unique(domain[here])) < 2:
                away &= ~here
        for gpu in np.flatnonzero(~away.any(0)).tolist():
            reasons.setdefault(gpu, f"no uplink of {topology.leaf_name(int(leaf[0, gpu]))} is left")
        return reasons

    def port(self, gpu: int, lane: int) -> int:
        """Index into `nics()` of a GPU's lane."""
        topology = self.topology
        nic = int(topology.nic_of(np.asarray(gpu), lane))
        return nic * topology.planes + lane % topology.planes

    def _reason(self, nic: int) -> str:
        if nic in self.dead_nics:
            return str(self.dead_nics[nic])
        topology = self.topology
        for plane in range(topology.planes):
            leaf, port = (int(each) for each in topology.plug(np.asarray(nic), plane))
            if leaf in self.dead_leaves:
                return str(self.dead_leaves[leaf])
            for fault in self.faults:
                if fault.place[:2] == (leaf, port):
                    return str(fault)
        return ", ".join(map(str, self.faults))[:60]
