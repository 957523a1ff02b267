"""Where every port of a cluster leads, as arithmetic: nothing is stored that can be computed.

Hosts are numbered through all racks, GPUs and NICs through all hosts, leaves, spines and cores
through all networks of the fabric. A leaf's ports 0 .. down-1 face hosts, the next `up` face
spines: its uplink j leads to spine j // links of its pod. Port q of a spine towards cores leads to
core q mod group_cores of its group.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from racktwin.hardware import Cluster
from racktwin.hardware.tree import Tree

Index = npt.NDArray[np.int64]


class Topology:
    """A cluster's GPUs, NICs and switches, and which of them are neighbours."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.fabric = cluster, cluster.fabric
        self.host = cluster.rack.host
        self.gpus, self.hosts = cluster.gpus, cluster.hosts
        self.rails = self.fabric.rail_count(self.host.nics)
        self.share = self.host.nics // self.rails  # NICs of a host on one rail
        self.planes = self.fabric.planes
        self.trees = cluster.networks

    @cached_property
    def tree(self) -> Tree:
        """One of the equal networks."""
        return self.cluster.tree

    @property
    def nics(self) -> int:
        """NICs of all hosts."""
        return self.hosts * self.host.nics

    @property
    def lanes(self) -> int:
        """Ports that the traffic of one GPU spreads over: its NICs, on each plane."""
        return max(1, self.host.nics // self.host.gpus) * self.planes

    @property
    def leaves(self) -> int:
        """Leaves of all networks."""
        return self.trees * self.tree.leaves

    @property
    def spines(self) -> int:
        """Second-tier switches of all networks."""
        return self.trees * self.tree.spines

    @property
    def cores(self) -> int:
        """Third-tier switches of all networks."""
        return self.trees * self.tree.cores

    @property
    def pods(self) -> int:
        """Pods of all networks."""
        return self.trees * self.tree.pods

    @property
    def domain(self) -> int:
        """GPUs of a full NVLink domain."""
        return self.cluster.gpus_per_domain

    @property
    def domains(self) -> int:
        """NVLink domains, a part-full one counted."""
        return -(-self.gpus // self.domain)

    @property
    def asics(self) -> int:
        """NVLink switch ASICs of one domain, 0 where GPUs are not switched."""
        return self.cluster.rack.switches or self.host.switches

    def nic_of(self, gpu: Index, lane: int = 0) -> Index:
        """The NIC behind a GPU's `lane`-th lane; GPUs share one where a host has fewer NICs."""
        host, local = np.divmod(gpu, self.host.gpus)
        each = self.host.nics // self.host.gpus
        if each:
            own = local * each + lane // self.planes
        else:
            own = local * self.host.nics // self.host.gpus
        return np.asarray(host * self.host.nics + own)

    def gpu_of(self, nic: int) -> int:
        """The first GPU that a NIC serves."""
        host, own = divmod(nic, self.host.nics)
        return host * self.host.gpus + own * self.host.gpus // self.host.nics

    def rail_of(self, nic: Index) -> Index:
        """Rail of a NIC: its position in its host, modulo the rails."""
        return np.asarray(nic % self.host.nics % self.rails)

    def plug(self, nic: Index, plane: int = 0) -> tuple[Index, Index]:
        """Leaf and port of it that a NIC's `plane`-th port is plugged into."""
        host, own = np.divmod(nic, self.host.nics)
        tree, down = self.tree, self.tree.down
        if self.fabric.layout == "single" or (self.fabric.layout == "aligned" and not tree.up):
            leaf, port = np.divmod(nic, down)
            return leaf + plane * tree.leaves, port
        rail, place = own % self.rails, own // self.rails
        if self.fabric.layout == "aligned":
            group, seat = np.divmod(host, down // self.share)
            leaf = group * self.rails + rail
            return leaf + plane * tree.leaves, seat * self.share + place
        leaf, port = np.divmod(host * self.share + place, down)
        return leaf + (rail * self.planes + plane) * tree.leaves, port

    def plugged(self, leaf: int, port: int) -> int | None:
        """The NIC in a leaf's port; None where the port is empty."""
        number, inner = divmod(leaf, self.tree.leaves)
        rail = number // self.planes
        seat = inner * self.tree.down + port
        if self.fabric.layout == "aligned" and self.tree.up:
            group, rail = divmod(inner, self.rails)
            row, place = divmod(port, self.share)
            host = group * (self.tree.down // self.share) + row
            if row >= self.tree.down // self.share:
                return None
            nic = host * self.host.nics + place * self.rails + rail
        elif self.fabric.layout == "rails":
            host, place = divmod(seat, self.share)
            nic = host * self.host.nics + place * self.rails + rail
        else:
            nic = seat
        return nic if nic < self.nics else None

    def pod_of(self, leaf: Index) -> Index:
        """Pod of a leaf."""
        number, inner = np.divmod(leaf, self.tree.leaves)
        return np.asarray(number * self.tree.pods + inner // self.tree.pod_leaves)

    def domain_of(self, gpu: Index) -> Index:
        """NVLink domain of a GPU."""
        return np.asarray(gpu // self.domain)

    def leaves_in(self, pod: int) -> range:
        """Leaves of a pod."""
        number, inner = divmod(pod, self.tree.pods)
        first = number * self.tree.leaves + inner * self.tree.pod_leaves
        return range(first, first + self.tree.leaves_of(inner))

    def gpu_name(self, gpu: int) -> str:
        """'rack3/host2/1': counted from 0, as faults are written."""
        host, local = divmod(int(gpu), self.host.gpus)
        rack, own = divmod(host, self.cluster.rack.hosts)
        return f"rack{rack}/host{own}/{local}"

    def leaf_name(self, leaf: int) -> str:
        """'leaf7', with its rail and plane where there are several networks."""
        rail, plane = divmod(int(leaf) // self.tree.leaves, self.planes)
        rails = f" (rail {rail})" if self.fabric.layout == "rails" else ""
        return f"leaf{leaf}{rails}" + (f" (plane {plane})" if self.planes > 1 else "")
