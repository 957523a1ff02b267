"""Lengths: laws of a positive quantity, such as the tokens of a prompt, and draws from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.units import Fraction

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Law = Literal["fixed", "uniform", "lognormal", "empirical"]
Figure = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
STEPS = 1 << 16  # of the table an empirical law is drawn from


class Lengths(msgspec.Struct, frozen=True, kw_only=True):
    """A law of lengths in tokens (of pauses in s), cut to least..most.

    fixed: always `mean`. uniform: `ratio` x most .. most, as InferenceX's random range.
    lognormal: `mean`, and `cv`, the standard deviation over it (1), both before the cut.
    empirical: `values` at the fractions `levels` of all cases, straight lines between them;
    without levels, at even steps from the least to the most.
    """

    law: Law = "fixed"
    mean: Figure = 0.0
    cv: Annotated[float, msgspec.Meta(ge=0.0, le=100.0)] = 0.0
    ratio: Fraction = Fraction(1.0)
    values: tuple[Figure, ...] = ()
    levels: tuple[Fraction, ...] = ()
    least: Figure = 0.0
    most: Figure = 1e9

    @property
    def fault(self) -> str:
        """What is wrong with the figures, '' when nothing is."""
        if self.least > self.most:
            return f"least {self.least:g} is above most {self.most:g}"
        if self.law == "lognormal" and not self.mean > 0:
            return "a lognormal law needs a mean above 0"
        if self.law == "uniform" and self.most >= 1e9:
            return "a uniform law needs its most"
        if self.law != "empirical":
            return ""
        if len(self.values) < 2 or any(np.diff(self.values) < 0):
            return "an empirical law needs two or more values in rising order"
        if self.levels and (
            len(self.levels) != len(self.values)
            or (float(self.levels[0]), float(self.levels[-1])) != (0.0, 1.0)
            or any(np.diff(self.levels) <= 0)
        ):
            return "levels must rise from 0 to 1, one for each value"
        return ""


def spread(lengths: Lengths, rng: np.random.Generator, count: int) -> Floats:
    """`count` draws, in the unit of the law's figures (tokens or s)."""
    return np.clip(LAWS[lengths.law](lengths, rng, count), lengths.least, lengths.most)


def draw(lengths: Lengths, rng: np.random.Generator, count: int) -> Ints:
    """`count` draws as whole tokens."""
    return np.rint(spread(lengths, rng, count)).astype(np.int64)


def mean(lengths: Lengths) -> float:
    """Mean of the law's draws, in the unit of its figures (tokens or s)."""
    return float(spread(lengths, np.random.default_rng(0), STEPS).mean())


def _fixed(lengths: Lengths, rng: np.random.Generator, count: int) -> Floats:
    return np.full(count, lengths.mean)


def _uniform(lengths: Lengths, rng: np.random.Generator, count: int) -> Floats:
    low = math.ceil(lengths.ratio * lengths.most - 1e-9)
    return rng.integers(low, int(lengths.most), count, endpoint=True).astype(np.float64)


def _lognormal(lengths: Lengths, rng: np.random.Generator, count: int) -> Floats:
    variance = math.log1p(lengths.cv**2)
    centre = math.log(lengths.mean) - variance / 2
    return np.exp(centre + math.sqrt(variance) * rng.standard_normal(count))


def _empirical(lengths: Lengths, rng: np.random.Generator, count: int) -> Floats:
    drawn: Floats = _table(lengths)[rng.integers(0, STEPS, count, np.uint16)]
    return drawn


LAWS: dict[str, Callable[[Lengths, np.random.Generator, int], Floats]] = {
    "fixed": _fixed,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "empirical": _empirical,
}


@functools.lru_cache(maxsize=256)
def _table(lengths: Lengths) -> Floats:
    levels = lengths.levels or np.linspace(0, 1, len(lengths.values))
    return np.interp((np.arange(STEPS) + 0.5) / STEPS, levels, lengths.values)
