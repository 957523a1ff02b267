"""Where the ranks of a deployment sit: NVLink domains of a replica, caches that change domains."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.engine.memory import MemoryFit
from racktwin.engine.seating import away
from racktwin.serving.cache_transfer import transfer_times
from racktwin.units import Bandwidth, Seconds


class Places(msgspec.Struct, frozen=True):
    """Of all copies, placed as densely as they fit.

    domains: that a replica of each role takes, count. away: share of prefill and decode pairs in
    different domains, 0..1. near, far: s that the cache of a prompt travels inside a domain, and
    between two; None with one pool.
    """

    domains: dict[str, int]
    away: float = 0.0
    near: float | None = None
    far: float | None = None


def places(deployment: Deployment, memory: dict[str, MemoryFit], prompt: float) -> Places:
    """The seats of a deployment; prompt: tokens of one."""
    whole = deployment.cluster.gpus_per_domain
    domains = {role: -(-pool.layout.gpus // whole) for role, pool in deployment.pools.items()}
    if deployment.prefill is None:
        return Places(domains)
    pairs = transfer_times(deployment, memory)
    near, far = (start + pace * prompt for start, pace in pairs)
    return Places(domains, away(deployment), near, far)


def sentences(found: Places, deployment: Deployment) -> Iterator[str]:
    """What a plan says of them."""
    for role, count in found.domains.items():
        if count > 1:
            nic = Bandwidth(deployment.cluster.nic)
            yield f"a {role} replica spans {count} NVLink domains, joined by a {nic} NIC a GPU"
    if max(found.domains.values()) == 1:
        yield "every replica inside one NVLink domain"
    if found.near is not None and found.far is not None:
        times = f"{Seconds(found.near).text(2)} within, {Seconds(found.far).text(2)} between"
        yield f"{found.away:.0%} of caches change domains (a prompt's: {times})"
