"""Finished requests by SLO class: what each class felt, and how much of it was good."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.serving.fleet import Floats, Ints
from racktwin.serving.limits import Bounds, Limits
from racktwin.serving.sample import Sample, Spread
from racktwin.serving.slo_class import SloClass


class Felt(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of a class that count; rates in requests/s.

    good: within the limits of the class; attained: their share of its requests, 0..1, NaN
    where none counts.
    """

    name: str
    priority: int | None
    limits: Limits
    counted: int
    requests: float
    good: float
    attained: float
    ttft: Spread
    tpot: Spread
    e2e: Spread
    queue: Spread


class ByClass:
    """A sample for each class. limits: of a request where its class has none."""

    def __init__(
        self,
        figures: tuple[str, ...],
        totals: tuple[str, ...],
        classes: tuple[SloClass, ...],
        limits: Limits,
    ) -> None:
        self.figures, self.totals, self.common = figures, totals, limits
        self.given = {each.name: each for each in classes}
        self.classes: list[SloClass] = []
        self.limits: list[Limits] = []
        self.samples: list[Sample] = []

    def know(self, names: tuple[str, ...]) -> None:
        """The classes of the stream so far, in its order."""
        for name in names[len(self.classes) :]:
            found = self.given.get(name, SloClass(name))
            self.classes.append(found)
            self.limits.append(found.limits.over(self.common))
            self.samples.append(Sample(self.figures, self.totals))

    def bounds(self, which: Ints) -> Limits | Bounds:
        """The limits, s, of requests of these classes."""
        return Bounds.of(self.limits, which) if self.classes else self.common

    def names(self, which: Ints) -> np.ndarray:
        """Names of the classes of requests."""
        return np.array([each.name for each in self.classes])[which]

    def add(
        self, which: Ints, number: Ints, arrival: Floats, figures: Floats, totals: Floats
    ) -> None:
        """Finished requests of these classes.

        arrival: s; figures, totals: as `Sample` takes them, in any unit.
        """
        for index, sample in enumerate(self.samples):
            mine = which == index
            if mine.any():
                sample.add(number[mine], arrival[mine], figures[:, mine], totals[:, mine])

    def felt(self, whole: Sample, span: slice, rate: float, *, rank: bool) -> tuple[Felt, ...]:
        """What each class felt over the batches of `whole` in `span`.

        rate: requests/s of all classes. rank: percentiles by nearest rank.
        """
        found = []
        counted = whole.spread("e2e", span).count
        for each, limits, sample in zip(self.classes, self.limits, self.samples, strict=True):
            sample.widen(whole.size)
            spreads = {
                name: sample.spread(name, span, rank=rank)
                for name in ("ttft", "tpot", "e2e", "queue")
            }
            count, good = spreads["e2e"].count, sample.total("good", span)
            scale = rate / counted if counted else 0.0
            found.append(
                Felt(
                    name=each.name,
                    priority=each.priority,
                    limits=limits,
                    counted=count,
                    requests=count * scale,
                    good=good * scale,
                    attained=good / count if count else math.nan,
                    **spreads,
                )
            )
        return tuple(found)
