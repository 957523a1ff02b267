"""Where the replicas of all copies sit, and how many caches leave an NVLink domain on their way."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np

from racktwin.engine.deployment import SCOPES, Deployment

Seat = tuple[int, int]  # NVLink domain, GPU in it
Holder = tuple[int, str, int]  # copy, role, replica


class Part(msgspec.Struct, frozen=True):
    """GPUs of a replica that sit side by side in a domain, from GPU `first` of it on."""

    copy: int
    role: str
    replica: int
    domain: int
    first: int
    gpus: int


def parts(deployment: Deployment, copies: int = 1) -> list[Part]:
    """The seats of `copies` copies: largest replicas first, first fit.

    A replica starts in the first domain it fits into whole, larger ones in fresh domains.
    """
    domain = deployment.cluster.gpus_per_domain
    used: list[int] = []
    start: dict[int, int] = defaultdict(int)  # GPUs of a part -> domains before are too full
    found = []
    for role, pool in sorted(deployment.pools.items(), key=lambda pool: -pool[1].layout.gpus):
        for number in range(pool.replicas * copies):
            copy, replica = divmod(number, pool.replicas)
            for size in _pieces(pool.layout.gpus, domain):
                at = start[size]
                while at < len(used) and used[at] + size > domain:
                    at += 1
                start[size] = at
                if at == len(used):
                    used.append(0)
                found.append(Part(copy, role, replica, at, used[at], size))
                used[at] += size
    return found


def seats(deployment: Deployment, copies: int = 1) -> dict[Seat, Holder]:
    """Who sits where when `copies` copies are placed."""
    return {
        (each.domain, each.first + gpu): (each.copy, each.role, each.replica)
        for each in parts(deployment, copies)
        for gpu in range(each.gpus)
    }


def away(deployment: Deployment) -> float:
    """Share of prefill and decode GPUs that hand over caches in different NVLink domains, 0..1.

    Each copy's prefill serves its own decode, or that of all copies where one router serves them.
    """
    if deployment.prefill is None or deployment.decode is None:
        return 0.0
    every = parts(deployment, deployment.copies)
    scopes = deployment.copies if deployment.router_scope == SCOPES[1] else 1
    domains = 1 + max(each.domain for each in every)
    held = {role: np.zeros((scopes, domains)) for role in ("prefill", "decode")}
    for each in every:
        held[each.role][each.copy % scopes, each.domain] += each.gpus
    near = (held["prefill"] * held["decode"]).sum()
    pairs = (held["prefill"].sum(1) * held["decode"].sum(1)).sum()
    return float(1 - near / pairs)


def _pieces(gpus: int, domain: int) -> list[int]:
    """Whole domains a replica fills, and the rest of it."""
    return [domain] * (gpus // domain) + ([gpus % domain] if gpus % domain else [])
