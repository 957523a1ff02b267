"""Parts of a deployment: its smallest whole copy, and several of those side by side."""

from __future__ import annotations

import math

import msgspec

from racktwin.engine.deployment import Deployment


def smallest(deployment: Deployment) -> tuple[Deployment, int]:
    """The smallest copy with the same ratio of replicas, and how many of it there are in all."""
    count = math.gcd(*(pool.replicas for pool in deployment.pools.values()))
    pools = {
        role: msgspec.structs.replace(pool, replicas=pool.replicas // count)
        for role, pool in deployment.pools.items()
    }
    parts = count * deployment.copies
    offload = deployment.offload.of_part(1 / parts)
    return msgspec.structs.replace(deployment, copies=1, offload=offload, **pools), parts
