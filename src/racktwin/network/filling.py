"""Max-min fair rates: all flows grow alike until a link is full, which fixes those that cross it.

Progressive filling over classes, links taken from a heap in the order they fill. A link's level
only rises while others are fixed, so one that comes up too early goes back with its new level.
Bertsekas and Gallager, Data Networks, 1992, section 6.5.2.
"""

from __future__ import annotations

from racktwin.network.compiled import compiled
from racktwin.network.problem import Floats, Ints, Problem, Work

TIE = 1e-12  # relative difference of levels that count as one


@compiled
def push(keys: Floats, items: Ints, size: int, key: float, item: int) -> int:
    """Put `item` at `key` into the heap (keys: B/s); its new size (count)."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item
    return size + 1


@compiled
def pop(keys: Floats, items: Ints, size: int) -> int:
    """Take the least of the heap (keys: B/s) away; its new size (count)."""
    size -= 1
    key, item = keys[size], items[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at], items[at] = keys[below], items[below]
        at = below
    keys[at], items[at] = key, item
    return size


@compiled
def fill(problem: Problem, work: Work, count: int, ranks: int) -> None:
    """Rates of the first `count` active classes, rank by rank: the next gets what is left."""
    for link in range(len(work.room)):
        work.room[link] = problem.capacity[link]
    for rank in range(ranks):
        _demand(problem, work, count, rank)
        size = 0
        for link in range(len(work.room)):
            if work.users[link] > 0:
                size = push(work.keys, work.items, size, _level(work, link), link)
        while size > 0:
            level, link = work.keys[0], work.items[0]
            size = pop(work.keys, work.items, size)
            if work.users[link] == 0:
                continue
            now = _level(work, link)
            if now > level * (1 + TIE):
                size = push(work.keys, work.items, size, now, link)
            else:
                _fix(problem, work, link, now)


@compiled
def _level(work: Work, link: int) -> float:
    return max(work.room[link], 0.0) / work.weight[link]


@compiled
def _demand(problem: Problem, work: Work, count: int, rank: int) -> None:
    """Weights and classes of this rank on each link; rates below zero are still to be found."""
    for link in range(len(work.users)):
        work.users[link] = 0
        work.weight[link] = 0.0
    for position in range(count):
        one = work.active[position]
        if problem.rank[one] == rank:
            work.rate[one] = -1.0
            for entry in range(problem.head[one], problem.head[one + 1]):
                link = problem.link[entry]
                work.users[link] += 1
                work.weight[link] += problem.weight[one] * problem.cost[entry]


@compiled
def _fix(problem: Problem, work: Work, full: int, level: float) -> None:
    """Fix the rate of every class that grew over the link `full`, and take it from its links.

    Only such a class has a rate below zero: those at rest, done or of another rank do not.
    """
    for at in range(problem.back_head[full], problem.back_head[full + 1]):
        one = problem.back[at]
        if work.rate[one] >= 0.0:
            continue
        rate = level * problem.weight[one]
        work.rate[one] = rate
        work.bound[one] = full
        for entry in range(problem.head[one], problem.head[one + 1]):
            link, cost = problem.link[entry], problem.cost[entry]
            work.room[link] -= rate * cost
            work.weight[link] -= problem.weight[one] * cost
            work.users[link] -= 1
