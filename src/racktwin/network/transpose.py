"""Classes of each link, from links of each class."""

from __future__ import annotations

import numpy as np

from racktwin.network.compiled import compiled
from racktwin.network.problem import Ints


def transposed(head: Ints, link: Ints, links: int) -> tuple[Ints, Ints]:
    """Where each link's classes begin, and the classes, in order."""
    begin = np.zeros(links + 1, np.int64)
    np.cumsum(np.bincount(link, minlength=links), out=begin[1:])
    back = np.empty(len(link), np.int64)
    _sort(head, link, begin[:-1].copy(), back)
    return begin, back


@compiled
def _sort(head: Ints, link: Ints, free: Ints, back: Ints) -> None:
    """Counting sort of the entries by link."""
    for one in range(len(head) - 1):
        for entry in range(head[one], head[one + 1]):
            back[free[link[entry]]] = one
            free[link[entry]] += 1
