"""The constants with which NCCL chooses an algorithm and a protocol: catalog/fabrics/tuner.yaml."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec

from racktwin import catalog
from racktwin.network.fabric import ORIGIN

Protocol = Literal["LL", "LL128", "Simple"]
PROTOCOLS: tuple[Protocol, ...] = ("LL", "LL128", "Simple")
MICRO, GIGA = 1e-6, 1e9  # the file has us and GB/s, as its source
TIMES = ("base", "nvlink", "network", "overhead", "arity", "pat_step")
SPEEDS = (
    *("link", "speeds_inside", "speeds_between"),
    *("ll", "ring_ll128", "tree_ll128", "tree", "nvls_tree"),
)
ByProtocol = tuple[float, float, float]
ByNodes = tuple[float, float, float]
Speeds = tuple[float, ...]


class Generation(msgspec.Struct, frozen=True):
    """What NCCL plans with on one generation of GPUs; B/s.

    links, link: NVLinks of a GPU, and of one each way. nvls: share of it that reduction in the
    switch reaches. nvls_channels: of one node and of several. speeds_inside, speeds_between: a
    channel may have, inside a node and over NICs. The others: the most LL reaches, and the most of
    a channel, by one, two, more nodes.
    """

    links: int
    link: float
    nvls: float
    nvls_channels: dict[Literal["alone", "several"], int]
    speeds_inside: Speeds
    speeds_between: Speeds
    ll: ByNodes
    ring_ll128: ByNodes
    tree_ll128: ByNodes
    tree: ByNodes
    nvls_tree: ByNodes


class Tuner(msgspec.Struct, frozen=True):
    """Times in s, bandwidths in B/s, shares of a bandwidth, 0..1.

    base, nvlink, network: by algorithm and protocol, of a call and of a step over either link.
    overhead: to post a message by CPU; simple_overhead: times that under Simple. arity: a further
    rank under CollNet direct. pat_step, pat_levels: of PAT per rank, and levels that overlap.
    plateau: of a ring's latency over several nodes, from so many bytes per channel and rank.
    tree_correction: of the tree's bandwidth by doubling of the size from correction_from bytes on.
    slowest: share of the fastest speed possible down to which NCCL looks. split: speed from which a
    channel is made two, any, or where there are at most `few`.
    """

    base: dict[str, ByProtocol]
    nvlink: dict[str, ByProtocol]
    network: dict[str, ByProtocol]
    overhead: dict[str, float]
    simple_overhead: float
    arity: float
    pat_step: float
    pat_levels: float
    plateau: dict[Literal["factor", "bytes"], float]
    ring_share: dict[Literal["LL", "LL128"], float]
    tree_share: dict[Literal["all", "LL", "one_node", "more_nodes"], float]
    pat_share: float
    collnet_share: float
    tree_correction: dict[Protocol, tuple[float, ...]]
    correction_from: float
    most_channels: int
    slowest: float
    split: dict[Literal["any", "few"], float]
    few: int
    generations: dict[str, Generation]


@cache
def tuner() -> Tuner:
    """NCCL's constants, in SI units."""
    found = catalog.load("fabrics", "tuner").build(Tuner, ORIGIN)
    times = {name: _scaled(getattr(found, name), MICRO) for name in TIMES}
    made = {name: _in_si(each) for name, each in found.generations.items()}
    split = _scaled(found.split, GIGA)
    return msgspec.structs.replace(found, generations=made, split=split, **times)


def _in_si(found: Generation) -> Generation:
    speeds = {key: _scaled(getattr(found, key), GIGA) for key in SPEEDS}
    return msgspec.structs.replace(found, **speeds)


def _scaled(value: Any, by: float) -> Any:
    """A number, or every number of a tuple or mapping, times `by`."""
    if isinstance(value, dict):
        return {key: _scaled(each, by) for key, each in value.items()}
    return tuple(each * by for each in value) if isinstance(value, tuple) else value * by
