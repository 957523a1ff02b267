"""Classes of flows over links, as arrays that compiled code reads, and the room it works in.

A class is any number of flows that share a path and a rate. Entry e of class c says that its flows
use link `link[e]`: `share[e]` times the class's rate is carried, and `cost[e]` times is taken from
its capacity (more than what is carried where a routing wastes some).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ROWS = 2048  # of the log; when it is full, neighbours are joined
WAITING, ACTIVE, DONE = 0, 1, 2


class Problem(NamedTuple):
    """What is asked.

    head, link, share, cost: entries of each class (ratio); back_head, back: classes of each link.
    weight: part of a fair share (ratio); rank: 0 is served first; level: service level;
    size: B of one flow; start: s. capacity, line: B/s of each link, as used and as sold;
    tier: of each link. order: classes by start.
    """

    head: Ints
    link: Ints
    share: Floats
    cost: Floats
    back_head: Ints
    back: Ints
    weight: Floats
    rank: Ints
    level: Ints
    size: Floats
    start: Floats
    capacity: Floats
    line: Floats
    tier: Ints
    order: Ints


class Work(NamedTuple):
    """What is in progress.

    rate, slow, eased: B/s of each class's flow, while a congestion spreads, and once senders have
    slowed down; left: B; finish: s; bound, stuck: the link that limits it, that blocks it.
    room, weight, users: of each link: B/s left, weights (ratio) and classes that still grow.
    offered: B/s a receiver would be sent; since: s, when it was congested.
    pressure: B/s per weight that a blocked link passes, by level.
    moved, carried: B over each link in a step, in all. keys, items: a heap of links by B/s.
    """

    rate: Floats
    slow: Floats
    left: Floats
    finish: Floats
    eased: Floats
    bound: Ints
    stuck: Ints
    hot: Ints
    state: Ints
    active: Ints
    room: Floats
    weight: Floats
    users: Ints
    offered: Floats
    since: Floats
    pressure: Floats
    keys: Floats
    items: Ints
    moved: Floats
    carried: Floats


class Log(NamedTuple):
    """What happened: an interval a row.

    until: its end, s; bytes: B carried by the links of each tier; peak: fraction of line rate of
    the busiest link of each tier.
    """

    until: Floats
    bytes: Floats
    peak: Floats


def workspace(problem: Problem, levels: int) -> Work:
    """Room to work in."""
    classes, links = len(problem.size), len(problem.capacity)

    def floats(count: int) -> Floats:
        return np.zeros(count)

    def whole(count: int) -> Ints:
        return np.zeros(count, np.int64)

    return Work(
        rate=floats(classes),
        slow=floats(classes),
        left=problem.size.copy(),
        finish=np.full(classes, np.inf),
        eased=floats(classes),
        bound=whole(classes),
        stuck=whole(classes),
        hot=whole(classes),
        state=whole(classes),
        active=whole(classes),
        room=floats(links),
        weight=floats(links),
        users=whole(links),
        offered=floats(links),
        since=np.full(links, np.inf),
        pressure=floats(links * levels),
        keys=floats(links + 1),
        items=whole(links + 1),
        moved=floats(links),
        carried=floats(links),
    )


def log(tiers: int) -> Log:
    """An empty log."""
    return Log(np.zeros(ROWS), np.zeros((ROWS, tiers)), np.zeros((ROWS, tiers)))
