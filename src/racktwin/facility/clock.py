"""Power caps and locked clocks: what a GPU then draws, and how much slower its work gets.

Only the core follows the clock. Work that the tensor cores bound takes 1/clock as long; work that
HBM, links or the host bound keeps its time. Energy of an operation grows with the square of the
voltage, so with the clock to some power; bytes cost the same.
"""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from racktwin import catalog
from racktwin.catalog.bounds import Ratio
from racktwin.units import Fraction, Seconds

Array = NDArray[np.float64]
HALVINGS = 50


class Law(msgspec.Struct, frozen=True, kw_only=True):
    """How power follows the clock.

    energy_exponent: of the energy of an operation over the clock, 1. floor: lowest clock over the
    highest (fraction). peak: EDPp over TDP (ratio), which a GPU draws for up to peak_time (s).
    """

    title: str
    energy_exponent: float
    floor: Fraction
    peak: Ratio
    peak_time: Seconds


class Work(msgspec.Struct, frozen=True):
    """What a GPU does in a while, at its highest clock.

    core, rest: s bound by the tensor cores, and by anything else; core_joules, rest_joules: J
    above idle of operations on the core, and of bytes over HBM and links; idle: W.
    """

    core: Array
    rest: Array
    core_joules: Array
    rest_joules: Array
    idle: float


class Run(msgspec.Struct, frozen=True):
    """That work at some clock: clock over the highest (fraction), time (s), mean power (W)."""

    clock: Array
    seconds: Array
    watts: Array


@cache
def law() -> Law:
    """The catalog's."""
    return catalog.load("clocks", "tensor").build(Law)


def at_clock(work: Work, clock: ArrayLike) -> Run:
    """The work at `clock`, a fraction of the highest."""
    share = np.asarray(clock, float)
    seconds = work.core / share + work.rest
    joules = work.core_joules * share ** law().energy_exponent + work.rest_joules
    watts = work.idle + np.divide(joules, seconds, out=np.zeros_like(seconds), where=seconds > 0)
    return Run(np.broadcast_to(share, seconds.shape).copy(), seconds, watts)


def capped(work: Work, cap: ArrayLike, locked: float = 1.0) -> Run:
    """The work below `cap` W, at the highest clock that keeps it; at most `locked` (fraction).

    At the lowest clock it stays, whatever it then draws: a cap below that cannot be kept.
    """
    most = np.asarray(cap, float)
    shape = np.broadcast_shapes(work.core.shape, most.shape)
    low = np.full(shape, float(law().floor))
    high = np.full(shape, max(locked, float(law().floor)))
    free = at_clock(work, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = at_clock(work, middle).watts <= most
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    clock = np.where(free.watts <= most, free.clock, low)
    return at_clock(work, clock)


def work_of(
    seconds: ArrayLike, busy: ArrayLike, core_share: ArrayLike, watts: ArrayLike, idle: float
) -> Work:
    """`Work` from what a while looks like at full clock.

    seconds: s in all; busy: share of it bound by the tensor cores; core_share: share of the energy
    above idle that operations on the core take (fractions); watts: mean draw, W; idle: W.
    """
    time, part = np.broadcast_arrays(np.asarray(seconds, float), np.asarray(busy, float))
    above = (np.asarray(watts, float) - idle) * time
    core = above * np.asarray(core_share, float)
    return Work(time * part, time * (1 - part), core, above - core, idle)
