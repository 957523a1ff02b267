"""A folded Clos network (fat tree) of equal switches: how many of them, and cables between them.

Nothing is stored but a dozen counts: which port leads where is arithmetic on them.
"""

from __future__ import annotations

import functools
import math

import msgspec


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one network.

    ends: host ports. down, up: ports of a leaf towards hosts and towards spines. pods: groups of
    `pod_leaves` leaves (the last may have fewer) with `pod_spines` spines of their own; 1 below
    three tiers. links: cables from a leaf to each spine of its pod. group_cores: cores that the
    spines of one position in their pods share; 0 below three tiers.
    """

    ends: int
    down: int
    up: int
    leaves: int
    pods: int = 1
    pod_leaves: int
    pod_spines: int = 0
    links: int = 0
    group_cores: int = 0

    @property
    def tiers(self) -> int:
        """Levels of switches."""
        return 1 if not self.up else 3 if self.group_cores else 2

    @property
    def spines(self) -> int:
        """Switches of the second tier."""
        return self.pods * self.pod_spines

    @property
    def cores(self) -> int:
        """Switches of the third tier."""
        return self.pod_spines * self.group_cores

    @property
    def switches(self) -> int:
        """All switches."""
        return self.leaves + self.spines + self.cores

    @property
    def trunks(self) -> tuple[int, int]:
        """Cables between leaves and spines, and between spines and cores: no taper above a leaf."""
        leaf = self.leaves * self.up
        return leaf, leaf if self.group_cores else 0

    def leaves_of(self, pod: int) -> int:
        """Leaves of a pod."""
        return min(self.pod_leaves, self.leaves - pod * self.pod_leaves)

    def spine_up(self, pod: int) -> int:
        """Ports of a spine of that pod towards cores, as many as towards its leaves."""
        return self.leaves_of(pod) * self.links if self.group_cores else 0


def split(ports: int, ratio: float) -> tuple[int, int] | None:
    """Ports of a leaf down and up, `ratio` (dimensionless) down per up, using as many as can be.

    None where no whole numbers of ports have this ratio.
    """
    for up in range(int(ports / (1 + ratio)), 0, -1):
        down = up * ratio
        if abs(down - round(down)) < 1e-6 * down:
            return round(down), up
    return None


def single(ends: int) -> Tree:
    """Everything on one switch."""
    return Tree(ends=ends, down=ends, up=0, leaves=1, pod_leaves=1)


def spread(up: int, least: int) -> int:
    """The fewest spines, at least `least`, that share a leaf's `up` uplinks equally."""
    return next(n for n in range(max(1, least), up + 1) if up % n == 0)


def two_tiers(ends: int, leaves: int, down: int, up: int, ports: int, spines: int = 0) -> Tree:
    """Every leaf linked to every spine; as few spines as equal links allow, or `spines`.

    Gives NVIDIA's table for 576 to 10,368 GPUs (DGX SuperPOD B300 XDR).
    """
    count = spines or spread(up, math.ceil(leaves * up / ports))
    return Tree(
        ends=ends,
        down=down,
        up=up,
        leaves=leaves,
        pod_leaves=leaves,
        pod_spines=count,
        links=up // count,
    )


@functools.lru_cache(1024)
def three_tiers(ends: int, leaves: int, down: int, up: int, ports: int) -> Tree:
    """Pods of leaves and spines below cores, with the number of pods that takes fewest switches.

    A spine has as many ports up as down, so a pod has at most ports / 2 leaves.
    """
    half = ports // 2
    fewest = math.ceil(leaves / half)
    found = [
        _pods(ends, leaves, down, up, ports, pods)
        for pods in range(fewest, max(fewest, min(ports, 4 * fewest + 8)) + 1)
    ]
    return min(found, key=lambda tree: (tree.switches, tree.pods))


def _pods(ends: int, leaves: int, down: int, up: int, ports: int, pods: int) -> Tree:
    size = math.ceil(leaves / pods)
    pods = math.ceil(leaves / size)
    spines = spread(up, math.ceil(size * up / (ports // 2)))
    links = up // spines
    most = max(1, ports // pods)  # cables between a core and each pod
    return Tree(
        ends=ends,
        down=down,
        up=up,
        leaves=leaves,
        pods=pods,
        pod_leaves=size,
        pod_spines=spines,
        links=links,
        group_cores=math.ceil(size * links / most),
    )
