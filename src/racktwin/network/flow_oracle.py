"""Max-min fair flows in plain Python, written apart from the compiled code, to check it.

All flows that are not stopped grow together until a link is full; those on it stop; and so on.
No heap, no classes, no log: slow and short.
"""

from __future__ import annotations

import math

import msgspec

CLOSE = 1e-9  # relative difference of capacities that count as equal


class Flow(msgspec.Struct, frozen=True):
    """A flow of `size` B from `start` s.

    path: link -> times its rate is taken from the link (ratio). priority: higher first;
    weight: part of a fair share (ratio).
    """

    path: dict[int, float]
    size: float
    start: float = 0.0
    priority: int = 0
    weight: float = 1.0


def fair_rates(flows: list[Flow], capacity: dict[int, float]) -> list[float]:
    """B/s of each flow, all of them active; capacity: B/s of each link."""
    rates = [0.0] * len(flows)
    left = dict(capacity)
    for priority in sorted({flow.priority for flow in flows}, reverse=True):
        growing = {i for i, flow in enumerate(flows) if flow.priority == priority}
        while growing:
            need: dict[int, float] = {}
            for i in growing:
                for link, taken in flows[i].path.items():
                    need[link] = need.get(link, 0.0) + taken * flows[i].weight
            step = min(left[link] / total for link, total in need.items())
            for i in growing:
                rates[i] += step * flows[i].weight
            full = set()
            for link, total in need.items():
                left[link] = max(0.0, left[link] - step * total)
                if left[link] <= CLOSE * capacity[link]:
                    full.add(link)
            growing = {i for i in growing if not full & flows[i].path.keys()}
    return rates


def finish_times(flows: list[Flow], capacity: dict[int, float]) -> list[float]:
    """When each flow has carried its bytes, s; rates are found anew at every start and end.

    capacity: B/s of each link.
    """
    finish = [math.inf] * len(flows)
    left = [flow.size for flow in flows]
    now = min(flow.start for flow in flows)
    while any(math.isinf(each) for each in finish):
        active = [i for i, flow in enumerate(flows) if flow.start <= now and math.isinf(finish[i])]
        later = [flow.start for flow in flows if flow.start > now]
        if not active:
            now = min(later)
            continue
        rates = dict(zip(active, fair_rates([flows[i] for i in active], capacity), strict=True))
        ends = [left[i] / rate for i, rate in rates.items() if rate > 0]
        step = min([*ends, *(start - now for start in later)])
        for i, rate in rates.items():
            left[i] -= rate * step
            if rate > 0 and left[i] <= CLOSE * flows[i].size:
                finish[i] = now + step
        now += step
    return finish
