"""The channels NCCL lays over a machine: so many rings or trees side by side, each of one speed.

NCCL searches paths link by link (src/graph/search.cc). Where all GPUs of a node reach each other
through switches, what it finds is the most bandwidth that equal channels of a listed speed add up
to, from the fastest possible speed down to half of it; of equals the fewest channels, which are
then split in two where they are fast.
"""

from __future__ import annotations

import msgspec

from racktwin.hardware import Cluster, Place
from racktwin.network.fabric import generation
from racktwin.network.tuner import Generation, tuner
from racktwin.network.way import USUAL, Way


class Channels(msgspec.Struct, frozen=True):
    """`count` channels of `speed` B/s each way."""

    count: int
    speed: float

    @property
    def total(self) -> float:
        """Of all together, B/s."""
        return self.count * self.speed


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of a communicator as NCCL sees them; a node is an NVLink domain.

    cpu: family of the host CPUs. nvlink, nic: B/s each way of a GPU that NCCL plans with.
    sharp: switches between the nodes reduce.
    """

    ranks: int
    nodes: int
    per_node: int
    made: Generation
    cpu: str
    nvlink: float
    nic: float
    sharp: bool = False

    @property
    def scale(self) -> int:
        """Place in constants by number of nodes: one, two, more."""
        return min(self.nodes, 3) - 1

    @property
    def channels(self) -> Channels:
        """Of rings and trees."""
        if self.nodes == 1:
            return split(search(self.nvlink, self.made.speeds_inside))
        return split(search(self.nvlink, self.made.speeds_between, self.nic, self.per_node))


def group(place: Place, cluster: Cluster, way: Way = USUAL) -> Group:
    """The ranks of `place` on a cluster, with what `way` has left of their links."""
    made = tuner().generations[generation(cluster.chip.family)]
    per_node = min(place.per_domain, place.ranks)
    return Group(
        ranks=place.ranks,
        nodes=place.domains,
        per_node=per_node,
        made=made,
        cpu=cluster.rack.host.cpu.family,
        nvlink=min(made.links * made.link, cluster.nvlink) * way.nvlink,
        nic=cluster.nic * way.nic,
        sharp=way.sharp,
    )


def search(
    total: float, speeds: tuple[float, ...], fastest: float = float("inf"), most: int | None = None
) -> Channels:
    """The best equal channels of the listed `speeds`, B/s: `total` of a GPU, `fastest` of one.

    At most `most` of them.
    """
    limit = min(most or tuner().most_channels, tuner().most_channels)
    possible = [speed for speed in speeds if speed <= min(fastest, total)]
    if not possible:
        return Channels(1, min(total, fastest))
    found = [
        Channels(min(int(total / speed), limit), speed)
        for speed in possible
        if speed > tuner().slowest * possible[0]
    ]
    return max(found, key=lambda each: (round(each.total), each.speed))


def split(found: Channels) -> Channels:
    """Two channels for each fast one, so that more of a GPU works on them."""
    known = tuner()
    least = known.split["few" if found.count <= known.few else "any"]
    slow, count = found.speed < least, min(2 * found.count, known.most_channels)
    if slow or count == found.count:
        return found
    return Channels(count, found.total / count)
