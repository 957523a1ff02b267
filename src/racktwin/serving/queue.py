"""Waiting times of queues, from theory."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def wait(service: ArrayLike, utilisation: ArrayLike, servers: ArrayLike = 1) -> NDArray[np.float64]:
    """Mean wait before service, s: Poisson arrivals, constant service time, `servers` in parallel.

    Sakasegawa's approximation of M/M/c halved for constant service (Allen-Cunneen); exact for
    M/D/1, within 3 % or 0.01 of a service time of simulations with 2 to 16 servers.
    service: s; utilisation: 0..1 (at 1 and above the wait has no bound: inf).
    Source: Sakasegawa 1977; Allen, Probability, Statistics and Queueing Theory, 1990.
    """
    load = np.asarray(utilisation, dtype=float)
    count = np.asarray(servers, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = load ** (np.sqrt(2 * (count + 1)) - 1) / (count * (1 - load))
    return np.asarray(np.where(load < 1, 0.5 * np.asarray(service) * busy, np.inf))
