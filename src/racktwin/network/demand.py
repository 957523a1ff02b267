"""Flows gathered into classes: equal paths, sizes and starts are one class, however many flows.

A collective in which all ranks move in step is one class over all links it uses: its slowest link
sets the rate of all of them.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.network.distinct import distinct
from racktwin.network.links import BETWEEN, Links
from racktwin.network.problem import Floats, Ints, Problem
from racktwin.network.transpose import transposed

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)  # of the hash that finds equal paths


class Service(msgspec.Struct, frozen=True):
    """How flows are served: higher priorities first, shares by weight (ratio) within one.

    level: service level, the queue they wait in. efficiency: of the path between switches, 1.
    """

    efficiency: float
    priority: int = 0
    weight: float = 1.0
    level: int = 0


class Batch(msgspec.Struct, frozen=True):
    """Classes of one origin; entries lie row after row.

    width: entries of each class. link, share: of each entry (ratio). size: B of a flow; start: s;
    flows: count in each class; item: index of the flow each class was made from.
    """

    job: int
    width: Ints
    link: Ints
    share: Floats
    size: Floats
    start: Floats
    flows: Ints
    service: Service


class Demand:
    """Batches of classes, put together into one problem."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.batches: list[Batch] = []
        self.counts: dict[int, int] = {}  # job -> flows asked for, however many lanes each has

    def add_paths(
        self, job: int, rows: Ints, size: Floats, start: Floats, service: Service
    ) -> None:
        """Flows with a row of links each (-1: none), of `size` B from `start` s."""
        first, flows = _equal(rows, size, start)
        rows, size, start = rows[first], size[first], start[first]
        used = rows >= 0
        link = rows[used]
        batch = Batch(job, used.sum(1), link, np.ones(len(link)), size, start, flows, service)
        self.batches.append(batch)

    def add_step(
        self, job: int, shares: Floats, size: float, start: float, flows: int, service: Service
    ) -> None:
        """One class that moves in step: `shares` (ratio) flows of `size` B over each link.

        start: s. At its busiest link it competes like one flow: few of its flows are under way at
        a time.
        """
        link = np.flatnonzero(shares > 0).astype(np.int64)
        one = msgspec.structs.replace(service, weight=service.weight / float(shares[link].max()))
        self.batches.append(
            Batch(
                job,
                np.array([len(link)]),
                link,
                shares[link],
                np.array([size]),
                np.array([start]),
                np.array([flows]),
                one,
            )
        )

    @property
    def job(self) -> Ints:
        """Job of each class."""
        return np.repeat([each.job for each in self.batches], [len(b.size) for b in self.batches])

    @property
    def flows(self) -> Ints:
        """Flows of each class."""
        return np.concatenate([each.flows for each in self.batches])

    def problem(self) -> tuple[Problem, Ints]:
        """The arrays of compiled code, over the links in use; and which links those are."""
        batches, links = self.batches, self.links
        every = np.concatenate([each.link for each in batches])
        used, link = _renumber(every, links.count)
        share = np.concatenate([each.share for each in batches])
        between = np.isin(links.tier[used], BETWEEN)[link]
        waste = np.repeat(
            [1 / each.service.efficiency for each in batches], [len(b.link) for b in batches]
        )
        width = np.concatenate([each.width for each in batches])
        head = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        back_head, back = transposed(head, link, len(used))
        start = np.concatenate([each.start for each in batches])
        priority = self._each("priority")
        order = np.sort(np.unique(priority))[::-1]
        problem = Problem(
            head=head,
            link=link,
            share=share,
            cost=np.where(between, share * waste, share),
            back_head=back_head,
            back=back,
            weight=self._each("weight").astype(np.float64),
            rank=np.searchsorted(-order, -priority).astype(np.int64),
            level=self._each("level").astype(np.int64),
            size=np.concatenate([each.size for each in batches]),
            start=start,
            capacity=links.capacity[used],
            line=links.line[used],
            tier=links.tier[used].astype(np.int64),
            order=np.argsort(start, kind="stable").astype(np.int64),
        )
        return problem, used

    def _each(self, name: str) -> npt.NDArray[np.float64]:
        values = [float(getattr(each.service, name)) for each in self.batches]
        return np.repeat(values, [len(each.size) for each in self.batches])


def _renumber(link: Ints, count: int) -> tuple[Ints, Ints]:
    """The links in use, and each entry's position among them."""
    seen = np.zeros(count, bool)
    seen[link] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[link]


def _equal(rows: Ints, size: Floats, start: Floats) -> tuple[Ints, Ints]:
    """The first flow of each set of equal ones, and how many there are."""
    with np.errstate(over="ignore"):
        value = size.view(np.uint64) * np.uint64(MULTIPLIERS[0]) ^ start.view(np.uint64)
        for column in rows.view(np.uint64).T:
            value = value * np.uint64(MULTIPLIERS[1]) + column
            value ^= value >> np.uint64(29)
    return distinct(value)
