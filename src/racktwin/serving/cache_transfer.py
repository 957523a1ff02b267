"""How long a cache takes from a prefill to a decode GPU: inside an NVLink domain, between two."""

from __future__ import annotations

import numpy as np

from racktwin.engine.deployment import Deployment
from racktwin.engine.memory import MemoryFit
from racktwin.engine.seating import away
from racktwin.hardware import Place
from racktwin.network.transfer import transfer

LARGE = 2.0**30  # bytes of a message whose time is nearly all bandwidth


def transfer_time(deployment: Deployment, memory: dict[str, MemoryFit]) -> tuple[float, float]:
    """Start, s, and pace, s/token, of a cache on its way from a prefill to a decode GPU.

    The mean over the pairs that hand over, inside an NVLink domain and between two. The side that
    holds more bytes of a token on each GPU sets the pace.
    """
    near, far = transfer_times(deployment, memory)
    share = away(deployment)
    start, pace = ((1 - share) * one + share * two for one, two in zip(near, far, strict=True))
    return start, pace


def transfer_times(
    deployment: Deployment, memory: dict[str, MemoryFit]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Start, s, and pace, s/token, of a cache inside an NVLink domain, and between two."""
    size = max(fit.cache.charged for fit in memory.values())
    found = []
    for place in (Place(2, 2, 2), Place(2, 1, 1)):
        one, many = transfer(np.array([1.0, LARGE]), place, deployment.cluster).seconds
        found.append((float(one), float((many - one) / LARGE * size)))
    return found[0], found[1]
