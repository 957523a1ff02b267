"""What NCCL expects of each algorithm and protocol, and which it takes: its tuning model.

After src/graph/tuning.cc of NCCL 2.30: time = latency + bytes / bandwidth, the least is taken. A
plan, not a measurement: it has no ramp, so mid sizes come out too fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.network.algorithm import ALL, HALVES
from racktwin.network.channels import Group, search
from racktwin.network.curve import Array
from racktwin.network.tuner import PROTOCOLS, Protocol, tuner
from racktwin.network.volume import Operation, wire_share


class Path(msgspec.Struct, frozen=True):
    """An algorithm under a protocol. latency: s; bandwidth: bytes of the buffer over s."""

    algorithm: str
    protocol: Protocol
    latency: float
    bandwidth: float

    def seconds(self, operation: Operation, size: npt.ArrayLike, group: Group) -> Array:
        """Time NCCL expects of buffers of `size` bytes, s."""
        size, known = np.asarray(size, np.float64), tuner()
        latency, bandwidth = np.asarray(self.latency), np.asarray(self.bandwidth)
        if self.algorithm == "tree":
            shares = np.array(known.tree_correction[self.protocol])
            doublings = np.log2(np.maximum(size / known.correction_from, 0.5))
            place = np.floor(doublings).astype(int)
            inside = (place >= 0) & (place < len(shares))
            bandwidth = bandwidth * np.where(
                inside, shares[np.clip(place, 0, len(shares) - 1)], 1.0
            )
        several = group.nodes > 1 and operation == "all_reduce"
        if self.algorithm == "ring" and self.protocol == "Simple" and several:
            piece = size / (group.channels.count * group.ranks)
            latency = latency * np.where(
                piece >= known.plateau["bytes"], known.plateau["factor"], 1.0
            )
        return np.asarray(latency + size / bandwidth)


def paths(operation: Operation, group: Group) -> list[Path]:
    """Every algorithm and protocol a group can run, in NCCL's order."""
    return [
        Path(name, protocol, _latency(name, protocol, operation, group), speed)
        for name, each in ALL.items()
        if not each.refuses(operation, group)
        for protocol in each.protocols
        if (speed := BANDWIDTH[name](protocol, operation, group)) > 0
    ]


def chosen(operation: Operation, size: npt.ArrayLike, found: list[Path], group: Group) -> Array:
    """Index of the path NCCL takes for each size: the one it expects to be done first."""
    return np.asarray(np.argmin([each.seconds(operation, size, group) for each in found], axis=0))


def quickest(algorithm: str, operation: Operation, size: npt.ArrayLike, group: Group) -> Array:
    """Time of an algorithm under its best protocol, s; it must be one the group can run."""
    mine = [each for each in paths(operation, group) if each.algorithm == algorithm]
    return np.asarray(np.min([each.seconds(operation, size, group) for each in mine], axis=0))


def _steps(operation: Operation, ranks: int) -> int:
    return {"all_reduce": 2 * (ranks - 1), "broadcast": ranks}.get(operation, ranks - 1)


def _ring(protocol: Protocol, operation: Operation, group: Group) -> float:
    known, channels = tuner(), group.channels
    bus = channels.total
    if protocol == "LL":
        bus = min(group.made.ll[group.scale], bus * known.ring_share["LL"])
    elif protocol == "LL128":
        most = channels.count * group.made.ring_ll128[group.scale]
        bus = min(bus * known.ring_share["LL128"], most)
    return bus * group.ranks / _steps(operation, group.ranks)


def _tree(protocol: Protocol, operation: Operation, group: Group) -> float:
    share, channels, at = tuner().tree_share, group.channels, group.scale
    bus = min(channels.total * share["all"], channels.count * group.made.tree[at])
    if protocol == "LL":
        bus = min(bus * share["LL"], group.made.ll[at])
    elif protocol == "LL128":
        kept = share["one_node" if group.nodes == 1 else "more_nodes"]
        bus = min(bus * kept, channels.count * group.made.tree_ll128[at])
    return bus / 2


def _inside_switch(operation: Operation, group: Group, count: int) -> float:
    """Bus bandwidth of reduction in the NVLink switch, B/s."""
    bus = group.nvlink * group.made.nvls
    if operation == "all_reduce":
        return 2 * bus * (count - 1) / count
    return bus * (group.per_node - 1) / group.per_node


def _nvls(protocol: Protocol, operation: Operation, group: Group) -> float:
    count = group.made.nvls_channels["alone" if group.nodes == 1 else "several"]
    bus = _inside_switch(operation, group, count)
    if group.nodes > 1:
        bus = min(bus, _between(group, count))
    return bus * group.ranks / _steps(operation, group.ranks)


def _between(group: Group, count: int) -> float:
    """B/s of `count` channels over the NICs of a node."""
    between = search(group.nvlink, group.made.speeds_between, group.nic, group.per_node)
    return min(count, group.per_node) * between.speed


def _nvls_tree(protocol: Protocol, operation: Operation, group: Group) -> float:
    count = group.made.nvls_channels["several"]
    between = _between(group, count) * (2 if group.nodes <= 2 else 1)
    most = count * group.made.nvls_tree[group.scale]
    return min(_inside_switch(operation, group, count), between, most) / 2


def _direct(protocol: Protocol, operation: Operation, group: Group) -> float:
    share = tuner().collnet_share
    if operation in HALVES:  # all NICs of a node fill it, the NVLink of each GPU its own buffer
        inside = group.nvlink * group.ranks / (group.ranks - 1)
        return min(group.per_node * group.nic, inside) * share
    channels = group.channels
    heads = group.per_node / channels.count  # GPUs per channel
    return channels.total / (heads - (heads - 1) / 2) * share / 2


def _chain(protocol: Protocol, operation: Operation, group: Group) -> float:
    return group.channels.total / 2


def _pat(protocol: Protocol, operation: Operation, group: Group) -> float:
    if protocol != "Simple":
        return 0.0
    return group.channels.total * tuner().pat_share / wire_share(operation, group.ranks)


Bandwidth = Callable[[Protocol, Operation, Group], float]
BANDWIDTH: dict[str, Bandwidth] = {
    "ring": _ring,
    "tree": _tree,
    "nvls": _nvls,
    "nvls_tree": _nvls_tree,
    "collnet_direct": _direct,
    "collnet_chain": _chain,
    "pat": _pat,
}


def _latency(name: str, protocol: Protocol, operation: Operation, group: Group) -> float:
    """Latency of a call, s."""
    known, at = tuner(), PROTOCOLS.index(protocol)
    base, inside = known.base[name][at], known.nvlink[name][at]
    between = known.network["tree" if group.per_node == 1 else name][at]
    local, levels = group.per_node - 1, math.floor(math.log2(group.nodes))
    if name == "ring":
        if operation == "broadcast":
            return base + (inside if group.nodes == 1 else between)
        return base + _around(protocol, operation, group, inside, between)
    return {
        "tree": base + 2 * (local * inside + levels * between),
        "collnet_direct": base + 2 * (min(1, local) * inside + local * known.arity) + between,
        "collnet_chain": base + 2 * local * inside + between,
        "nvls": inside + (between if group.nodes > 1 else 0.0),
        "nvls_tree": base + inside + 2 * levels * between,
        "pat": base + levels * between / known.pat_levels + known.pat_step * group.ranks,
    }[name]


def _around(
    protocol: Protocol, operation: Operation, group: Group, inside: float, between: float
) -> float:
    """Latency of all steps of a ring, s."""
    known, steps, across = tuner(), _steps(operation, group.ranks), 0
    if group.nodes > 1:
        posts = known.simple_overhead if protocol == "Simple" else 1.0
        inside = max(inside, known.overhead[group.cpu] * posts)
        across = _steps(operation, group.nodes)
    return (steps - across) * inside + across * between
