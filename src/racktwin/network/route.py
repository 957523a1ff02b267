"""The links a flow passes: a row per flow, a column per tier, -1 where it does not pass one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from racktwin.finding import BadInput, Finding
from racktwin.network.links import Links
from racktwin.network.problem import Ints
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

REDRAWS = 200  # hashes tried until a path of live links is found
NAMED = 6  # ranks named in a finding


def routes(links: Links, source: Ints, target: Ints, keys: Ints) -> list[tuple[Ints, Ints]]:
    """For each lane the paths over it, and the flows (index) that use the lane.

    A flow inside an NVLink domain is on the first lane only. keys: seeds of the flows' hashes.
    BadInput names ranks that no lane of the fabric reaches.
    """
    topology = links.topology
    inside = topology.domain_of(source) == topology.domain_of(target)
    near = np.flatnonzero(inside)
    rows = np.full((len(near), len(TIERS)), -1, np.int64)
    rows[:, NVLINK_OUT] = links.of(NVLINK_OUT, source[near])
    rows[:, NVLINK_IN] = links.of(NVLINK_IN, target[near])
    far = np.flatnonzero(~inside)
    found = [(rows, near)]
    reached = np.zeros(len(source), np.int64)
    for lane in range(topology.lanes):
        path, alive = _lane(links, source[far], target[far], keys[far], lane)
        reached[far[alive]] += 1
        found.append((path[alive], far[alive]))
    lost = far[reached[far] == 0]
    if len(lost):
        raise BadInput([_cut(links, source[lost], target[lost])], "faults")
    return found


def _lane(links: Links, source: Ints, target: Ints, keys: Ints, lane: int) -> tuple[Ints, Ints]:
    """Paths over one lane, and which flows (index) can use it."""
    topology = links.topology
    plane = lane % topology.planes
    out, into = topology.nic_of(source, lane), topology.nic_of(target, lane)
    relayed = np.zeros(len(source), bool)
    if links.routing == "rail" or topology.fabric.layout == "rails":
        relayed = topology.rail_of(out) != topology.rail_of(into)
        own = out - topology.rail_of(out) + topology.rail_of(into)  # the same seat on its rail
        out = np.where(relayed, own, out)
    rows = np.full((len(source), len(TIERS)), -1, np.int64)
    if relayed.any():
        relay = out // topology.host.nics * topology.host.gpus
        relay += out % topology.host.nics * topology.host.gpus // topology.host.nics
        rows[relayed, NVLINK_OUT] = links.of(NVLINK_OUT, source[relayed])
        rows[relayed, NVLINK_IN] = links.of(NVLINK_IN, relay[relayed])
    rows[:, NIC_OUT] = links.of(NIC_OUT, out * topology.planes + plane)
    rows[:, NIC_IN] = links.of(NIC_IN, into * topology.planes + plane)
    up, down = topology.plug(out, plane)[0], topology.plug(into, plane)[0]
    climbing = np.flatnonzero(up != down)
    if len(climbing):
        pick = _bundles if links.bundled else _cables
        rows[climbing, LEAF_UP : LEAF_DOWN + 1] = pick(
            links, up[climbing], down[climbing], keys[climbing] * topology.lanes + lane
        )
    if links.whole:
        return rows, np.arange(len(rows))
    line = np.append(links.line, np.inf)  # for -1
    return rows, np.flatnonzero((line[rows] > 0).all(1) & _joined(links, up, down))


def _joined(links: Links, up: Ints, down: Ints) -> npt.NDArray[np.bool_]:
    """Whether two leaves, each short of uplinks, still have a spine in common."""
    health, topology, tree = links.health, links.topology, links.topology.tree
    joined = np.ones(len(up), bool)
    hurt = np.asarray(health.hurt_leaves, np.int64)
    both = np.flatnonzero(np.isin(up, hurt) & np.isin(down, hurt) & (up != down))
    for leaf, other in np.unique(np.stack([up[both], down[both]], 1), axis=0):
        if topology.pod_of(leaf) == topology.pod_of(other):
            ways = [
                health.uplinks(int(each)).reshape(tree.pod_spines, tree.links).any(1)
                for each in (leaf, other)
            ]
            joined[both[(up[both] == leaf) & (down[both] == other)]] = (ways[0] & ways[1]).any()
    return joined


def _bundles(links: Links, up: Ints, down: Ints, keys: Ints) -> Ints:
    """Bundles from leaf `up` to leaf `down`."""
    topology = links.topology
    rows = np.full((len(up), 4), -1, np.int64)
    rows[:, 0], rows[:, 3] = links.of(LEAF_UP, up), links.of(LEAF_DOWN, down)
    own, other = topology.pod_of(up), topology.pod_of(down)
    over = own != other
    rows[over, 1] = links.of(SPINE_UP, own[over])
    rows[over, 2] = links.of(SPINE_DOWN, other[over])
    return rows


def _cables(links: Links, up: Ints, down: Ints, keys: Ints) -> Ints:
    """The cables that each flow's hash picks, drawn again where one of them is dead."""
    topology, tree = links.topology, links.topology.tree
    rows = np.full((len(up), 4), -1, np.int64)
    own, other = topology.pod_of(up), topology.pod_of(down)
    line = np.append(links.line, np.inf)
    open_ = np.arange(len(up))
    for draw in range(REDRAWS):
        value = mix(keys[open_], draw)
        port = value % tree.up
        spine, value = port // tree.links, value // np.uint64(tree.up)
        rows[open_, 0] = links.of(LEAF_UP, up[open_] * tree.up + port.astype(np.int64))
        lower = spine * tree.links + value % tree.links
        rows[open_, 3] = links.of(LEAF_DOWN, down[open_] * tree.up + lower.astype(np.int64))
        over = open_[own[open_] != other[open_]]
        if len(over):
            rows[over, 1:3] = _trunks(
                links, own[over], other[over], spine[own[open_] != other[open_]], keys[over], draw
            )
        if links.whole:
            break
        open_ = open_[~(line[rows[open_]] > 0).all(1)]
        if not len(open_):
            break
    return rows


def _trunks(links: Links, own: Ints, other: Ints, spine: Ints, keys: Ints, draw: int) -> Ints:
    """From a spine over a core of its group to the spine of the same position in another pod."""
    tree = links.topology.tree
    ports = np.array([tree.spine_up(pod) for pod in range(tree.pods)])
    value = mix(keys, draw + REDRAWS)
    up = (value % ports[own % tree.pods].astype(np.uint64)).astype(np.int64)
    core = up % tree.group_cores
    each = np.maximum(1, -((core - ports[other % tree.pods]) // tree.group_cores))
    down = core + tree.group_cores * (value // np.uint64(1 << 32) % each.astype(np.uint64)).astype(
        np.int64
    )
    seat = spine.astype(np.int64) * links.trunk
    return np.stack(
        [
            links.of(SPINE_UP, own * links.trunks + seat + up),
            links.of(SPINE_DOWN, other * links.trunks + seat + np.minimum(down, links.trunk - 1)),
        ],
        1,
    )


def mix(keys: Ints, draw: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A hash of each key (splitmix64, Steele and others 2014)."""
    with np.errstate(over="ignore"):
        value = keys.astype(np.uint64) + np.uint64((draw + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(value ^ (value >> np.uint64(31)))


def _cut(links: Links, source: Ints, target: Ints) -> Finding:
    """Which ranks are cut off, and by which fault."""
    cut = links.health.cut()
    lost = [gpu for gpu in np.unique(np.concatenate([source, target])).tolist() if gpu in cut]
    name = links.topology.gpu_name
    if not lost:
        pair = f"{name(source[0])} and {name(target[0])}"
        return Finding("ranks", f"cut off from one another: no live path from {pair}")
    named = ", ".join(f"{name(gpu)} ({cut[gpu]})" for gpu in lost[:NAMED])
    more = f" and {len(lost) - NAMED:,} more" if len(lost) > NAMED else ""
    return Finding("ranks", f"cut off from the fabric: {named}{more}")
