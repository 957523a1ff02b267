"""How many copies of a deployment a cluster holds when replicas may not be cut by domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from racktwin.engine.cost import Array
from racktwin.hardware import Cluster
from racktwin.planning.search import Candidates


def copies_of(candidates: Candidates, layouts: Array, cluster: Cluster, gpus: int) -> Array:
    """Copies of every candidate that fit into `gpus` GPUs. layouts: GPUs of a replica of each."""
    first = np.where(candidates.prefill < 0, 0, layouts[candidates.prefill])
    shapes = np.stack([first, candidates.prefills, layouts[candidates.decode], candidates.decodes])
    codes = np.ravel_multi_index(tuple(shapes.astype(np.int64)), (10**4,) * 4)
    _, where, which = np.unique(codes, return_index=True, return_inverse=True)
    found = []
    for one, many, other, more in shapes[:, where].astype(int).T.tolist():
        sizes = Counter({one: many} if many else {})
        sizes[other] += more
        found.append(copies(sizes, cluster, gpus))
    return np.array(found, dtype=float)[which]


def copies(replicas: Mapping[int, int], cluster: Cluster, gpus: int) -> int:
    """Copies that fit into `gpus` GPUs of `cluster`.

    replicas: GPUs of a replica -> how many of that size one copy has. A replica that fits into an
    NVLink domain stays inside one; a larger one takes whole domains. Largest first, first fit.
    """
    each = sum(size * count for size, count in replicas.items())
    low, high = 0, gpus // each
    middle = high  # most often all of them fit
    while low < high:
        if _fits({size: count * middle for size, count in replicas.items()}, cluster, gpus):
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return low


def _fits(replicas: Mapping[int, int], cluster: Cluster, gpus: int) -> bool:
    whole, rest = divmod(gpus, cluster.gpus_per_domain)
    free = Counter({cluster.gpus_per_domain: whole})
    if rest:
        free[rest] += 1
    for size in sorted(replicas, reverse=True):
        if not _place(free, size, replicas[size], cluster.gpus_per_domain):
            return False
    return True


def _place(free: Counter[int], size: int, count: int, domain: int) -> bool:
    """Take `count` replicas of `size` out of `free` (GPUs left in a domain -> such domains)."""
    if size > domain:
        need = -(-size // domain) * count
        free[domain] -= need
        return free[domain] >= 0
    for room in sorted(free):
        fit = room // size
        if not fit or count <= 0:
            continue
        used = min(free[room], -(-count // fit))
        held = min(count, used * fit)
        full, part = divmod(held, fit)
        free[room] -= used
        free[room - fit * size] += full
        if part:
            free[room - part * size] += 1
        count -= held
    return count <= 0
