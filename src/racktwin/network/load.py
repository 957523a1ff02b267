"""What a collective puts on each link while its ranks move in step, as shares of one NIC flow.

Sizes follow nccl-tests (see `volume`). The algorithms are those that suit two tiers: all-to-all
sends direct, the others run a ring between NVLink domains for each rank's shard, with the phases
inside the domains alongside. Start-up latencies and what NCCL would choose are not in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from racktwin.network.links import Links
from racktwin.network.problem import Floats, Ints
from racktwin.network.route import routes
from racktwin.network.tier import (
    LEAF_DOWN,
    LEAF_UP,
    NIC_IN,
    NIC_OUT,
    NVLINK_IN,
    NVLINK_OUT,
    SPINE_DOWN,
    SPINE_UP,
)
from racktwin.network.volume import Operation, wire_share

COLLECTIVES: tuple[Operation, ...] = ("all_to_all", "all_reduce", "all_gather", "reduce_scatter")


class Step(NamedTuple):
    """A collective as one class.

    shares: flows (ratio) of `size` B over each link. flows: count between ranks.
    """

    shares: Floats
    size: float
    flows: int


def step(
    links: Links, operation: Operation, gpus: Ints, size: float, rng: np.random.Generator
) -> Step:
    """The load of `operation` on `size` B per rank (nccl-tests) among `gpus`."""
    if operation == "all_to_all":
        return _all_to_all(links, gpus, size, rng)
    return _ring(links, operation, gpus, size, rng)


def _ring(
    links: Links, operation: Operation, gpus: Ints, size: float, rng: np.random.Generator
) -> Step:
    """Rings between domains, one for each seat in a domain; NVLink carries the phases inside."""
    domain = links.topology.domain_of(gpus)
    _, first, seats = np.unique(domain, return_index=True, return_counts=True)
    ranks = int(seats.min())
    inside = size * wire_share(operation, ranks) if ranks > 1 else 0.0
    shares = np.zeros(links.count)
    if len(first) == 1:
        _add(shares, links.of(NVLINK_OUT, gpus), 1.0)
        _add(shares, links.of(NVLINK_IN, gpus), 1.0)
        return Step(shares, inside, len(gpus))
    outside = size / ranks * wire_share(operation, len(first))
    source, target = _neighbours(gpus, first, seats)
    _direct(links, source, target, shares, rng)
    nvlink = inside / outside
    _add(shares, links.of(NVLINK_OUT, gpus), nvlink)
    _add(shares, links.of(NVLINK_IN, gpus), nvlink)
    return Step(shares, outside, len(source))


def _neighbours(gpus: Ints, first: Ints, seats: Ints) -> tuple[Ints, Ints]:
    """Each GPU and the one in the next domain that sits alike."""
    source, target = [], []
    for at, (begin, many) in enumerate(zip(first, seats, strict=True)):
        following = (at + 1) % len(first)
        source.append(gpus[begin : begin + many])
        seat = np.arange(many) % seats[following]
        target.append(gpus[first[following] + seat])
    return np.concatenate(source), np.concatenate(target)


def _all_to_all(links: Links, gpus: Ints, size: float, rng: np.random.Generator) -> Step:
    """Every rank sends size / ranks to every other; with PXN over the NIC on the target's rail."""
    shares = np.zeros(links.count)
    hurt = _short_of_lanes(links, gpus)
    whole = gpus[~hurt]
    _mesh(links, whole, shares, rng)
    for one in gpus[hurt]:  # whose traffic is on the lanes it has left
        others = gpus[gpus != one]
        pairs = [(np.full(len(others), one), others), (whole, np.full(len(whole), one))]
        for source, target in pairs:
            _direct(links, source, target, shares, rng)
    count = len(gpus)
    return Step(shares, size / count, count * (count - 1))


def _short_of_lanes(links: Links, gpus: Ints) -> npt.NDArray[np.bool_]:
    """Which ranks have lost one of their lanes to the fabric."""
    topology = links.topology
    lost = np.zeros(len(gpus), bool)
    for lane in range(topology.lanes):
        port = topology.nic_of(gpus, lane) * topology.planes + lane % topology.planes
        lost |= links.line[links.of(NIC_OUT, port)] == 0
    return lost


def _direct(
    links: Links, source: Ints, target: Ints, shares: Floats, rng: np.random.Generator
) -> None:
    """Flows one by one, each split over the lanes that both ends have."""
    lanes = routes(links, source, target, rng.integers(0, 1 << 40, len(source)))
    used = np.zeros(len(source))
    for _, flows in lanes:
        used[flows] += 1
    for rows, flows in lanes:
        part = np.repeat(1 / used[flows], (rows >= 0).sum(1))
        np.add.at(shares, rows[rows >= 0], part)


def _mesh(links: Links, gpus: Ints, shares: Floats, rng: np.random.Generator) -> None:
    """All pairs among ranks with all their lanes, counted without listing them."""
    topology = links.topology
    domain = topology.domain_of(gpus)
    near = np.bincount(domain, minlength=topology.domains)[domain] - 1
    _add(shares, links.of(NVLINK_OUT, gpus), near)
    _add(shares, links.of(NVLINK_IN, gpus), near)
    rails = topology.rails if links.routing == "rail" or topology.fabric.layout == "rails" else 1
    for lane in range(topology.lanes):
        nics = topology.nic_of(gpus, lane)
        for rail in range(rails):
            _exchange(links, gpus, nics, rail if rails > 1 else -1, lane, shares, rng)


def _exchange(
    links: Links, gpus: Ints, nics: Ints, rail: int, lane: int, shares: Floats,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """One lane's traffic to the receivers of one rail (-1: all); senders relay to it (PXN)."""
    topology, host = links.topology, links.topology.host
    plane, part = lane % topology.planes, 1.0 / topology.lanes
    into = nics if rail < 0 else nics[topology.rail_of(nics) == rail]
    if not len(nics) or not len(into):
        return
    out = nics
    if rail >= 0:
        out = nics - topology.rail_of(nics) + rail
        relay = out // host.nics * host.gpus + out % host.nics * host.gpus // host.nics
    ends = [(topology.domain_of(each // host.nics * host.gpus), each) for each in (out, into)]
    (own, out), (other, into) = ends
    sent = len(into) - np.bincount(other, minlength=topology.domains)[own]
    taken = len(out) - np.bincount(own, minlength=topology.domains)[other]
    _add(shares, links.of(NIC_OUT, out * topology.planes + plane), sent * part)
    _add(shares, links.of(NIC_IN, into * topology.planes + plane), taken * part)
    if rail >= 0:
        moved = relay != gpus
        _add(shares, links.of(NVLINK_OUT, gpus[moved]), sent[moved] * part)
        _add(shares, links.of(NVLINK_IN, relay[moved]), sent[moved] * part)
    leaf, far = topology.plug(out, plane)[0], topology.plug(into, plane)[0]
    _climb(links, LEAF_UP, (own, leaf), (other, far), part, shares, rng)
    _climb(links, LEAF_DOWN, (other, far), (own, leaf), part, shares, rng)
    if links.topology.tree.group_cores:
        pod, end = topology.pod_of(leaf), topology.pod_of(far)
        _climb(links, SPINE_UP, (own, pod), (other, end), part, shares, rng)
        _climb(links, SPINE_DOWN, (other, end), (own, pod), part, shares, rng)


def _climb(
    links: Links, tier: int, here: tuple[Ints, Ints], there: tuple[Ints, Ints], part: float,
    shares: Floats, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Flows over the links of a tier: to all ends but those of one's own domain or switch."""
    (domain, switch), (other, end) = here, there
    most = int(max(switch.max(), end.max())) + 1
    in_domain = np.bincount(other, minlength=links.topology.domains)
    on_switch = np.bincount(end, minlength=most)
    keys, many = np.unique(other * most + end, return_counts=True)
    at = np.searchsorted(keys, domain * most + switch)
    found = np.minimum(at, len(keys) - 1)
    both = np.where(keys[found] == domain * most + switch, many[found], 0)
    flows = len(end) - in_domain[domain] - on_switch[switch] + both
    total = np.bincount(switch, flows, minlength=most)
    used = np.flatnonzero(total > 0)
    if links.bundled:
        _add(shares, links.of(tier, used), total[used] * part)
        return
    each = links.topology.tree.up if tier in (LEAF_UP, LEAF_DOWN) else links.trunks
    for one in used:
        members = links.of(tier, one * each + np.arange(each))
        alive = members[links.line[members] > 0]
        drawn = rng.multinomial(round(total[one]), np.full(len(alive), 1 / len(alive)))
        _add(shares, alive, drawn * part)


def _add(shares: Floats, link: Ints, flows: npt.ArrayLike) -> None:
    np.add.at(shares, link, np.asarray(flows, np.float64))
