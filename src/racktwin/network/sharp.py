"""Reduction in the InfiniBand switches between NVLink domains (SHARP): what it can do, and when.

A tree over the real switches: every NIC sends its part up once, the root sends the sum down. Facts
and limits: catalog/fabrics/sharp.yaml.
"""

from __future__ import annotations

from functools import cache

import msgspec

from racktwin import catalog
from racktwin.hardware import Cluster, Place
from racktwin.network.fabric import ORIGIN
from racktwin.units import Bytes, Seconds


class Sharp(msgspec.Struct, frozen=True):
    """switches: version by switch. largest: B of a message before it is cut into pieces.

    trees, jobs: at once in a subnet. switch_latency, end_latency: s of a switch, and of both ends.
    dtypes: of the documentation; marketed: version by a dtype only announced.
    """

    switches: dict[str, int]
    largest: Bytes
    trees: int
    jobs: int
    switch_latency: Seconds
    end_latency: Seconds
    dtypes: tuple[str, ...]
    marketed: dict[str, int]


@cache
def facts() -> Sharp:
    """Limits and latencies."""
    return catalog.load("fabrics", "sharp").build(Sharp, ORIGIN)


def refusal(place: Place, cluster: Cluster, *, dtype: str = "float32", groups: int = 1) -> str:
    """Why `groups` groups like `place` cannot reduce in the fabric's switches at once; '' if so."""
    known, switch = facts(), cluster.fabric.switch
    version = known.switches.get(switch.name)
    if place.domains < 2:
        return "the group stays inside one NVLink domain"
    if version is None:
        return f"{switch.title} does not reduce"
    if dtype not in known.dtypes and known.marketed.get(dtype, version + 1) > version:
        return f"version {version} does not add {dtype} (it adds {', '.join(known.dtypes)})"
    rails = place.per_domain  # every rank of a domain has a NIC and a tree of its own
    if groups * rails > known.trees:
        return (
            f"{groups:,} groups with a tree for each of {rails} ranks of a domain need "
            f"{groups * rails:,} trees, and a subnet has {known.trees:,}"
        )
    return ""


def levels(cluster: Cluster, place: Place) -> int:
    """Levels of switches a tree over the group's NICs has."""
    nics = cluster.rack.host.nics
    hosts = min(cluster.hosts, max(1, -(-place.ranks // nics)))
    return cluster.fabric.tree(hosts, nics).tiers


def latency(place: Place, cluster: Cluster) -> float:
    """One way up the tree, s: both ends and a switch per level."""
    known = facts()
    return float(known.end_latency + levels(cluster, place) * known.switch_latency)
