"""Arrivals: when requests, or the sessions they belong to, come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.catalog.bounds import Number
from racktwin.units import Rate, Seconds

Floats = NDArray[np.float64]
Law = Literal["poisson", "gamma", "constant", "offline", "closed"]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]


class Arrivals(msgspec.Struct, frozen=True, kw_only=True):
    """A law of arrivals at a mean `rate`, requests/s.

    poisson (MLPerf Server), gamma with coefficient of variation `cv` (1) of the gaps, constant
    gaps; offline (MLPerf Offline): all at 0; closed: `concurrency` requests in flight, each
    followed by the next at once, so all may come at 0.
    profile: relative rate in each `step` of time, s, around and around: 24 factors of a day.
    """

    law: Law = "poisson"
    rate: Rate = Rate(1.0)
    cv: Annotated[float, msgspec.Meta(ge=0.0, le=100.0)] = 1.0
    concurrency: Number = 0
    profile: tuple[Share, ...] = ()
    step: Seconds = Seconds(3600.0)

    @property
    def fault(self) -> str:
        """What is wrong with the figures, '' when nothing is."""
        if self.law == "closed" and not self.concurrency:
            return "a closed loop needs its concurrency"
        if self.law == "gamma" and not self.cv:
            return "a gamma law needs a cv above 0; gaps that never vary are law: constant"
        if self.profile and not (sum(self.profile) > 0 and self.step > 0):
            return "a profile needs a factor above 0 and a step above 0"
        return ""


def gaps(arrivals: Arrivals, rng: np.random.Generator, count: int) -> Floats:
    """`count` gaps with mean 1 (0 when all arrive at once)."""
    return GAPS[arrivals.law](arrivals, rng, count)


def clock(arrivals: Arrivals, work: Floats) -> Floats:
    """Time in s at which the expected number of arrivals (1) reaches `work`."""
    if not arrivals.profile:
        return work / arrivals.rate
    factors = np.asarray(arrivals.profile)
    reached = np.concatenate([[0.0], np.cumsum(factors / factors.sum())])
    period = arrivals.step * len(factors)
    around, within = np.divmod(work / (arrivals.rate * period), 1.0)
    edges = np.arange(len(reached)) * float(arrivals.step)
    reached_at: Floats = around * period + np.interp(within, reached, edges)
    return reached_at


def _poisson(arrivals: Arrivals, rng: np.random.Generator, count: int) -> Floats:
    return rng.standard_exponential(count)


def _gamma(arrivals: Arrivals, rng: np.random.Generator, count: int) -> Floats:
    shape = arrivals.cv**-2
    return rng.standard_gamma(shape, count) / shape


def _constant(arrivals: Arrivals, rng: np.random.Generator, count: int) -> Floats:
    return np.ones(count)


def _at_once(arrivals: Arrivals, rng: np.random.Generator, count: int) -> Floats:
    return np.zeros(count)


GAPS: dict[str, Callable[[Arrivals, np.random.Generator, int], Floats]] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "constant": _constant,
    "offline": _at_once,
    "closed": _at_once,
}
