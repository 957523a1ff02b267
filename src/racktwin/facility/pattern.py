"""What GPUs draw over time: steps of training in lock-step, bursts of inference, 1 ms apart."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.catalog.bounds import Ratio
from racktwin.facility.clock import capped, law, work_of
from racktwin.hardware import Cluster
from racktwin.units import Fraction, Seconds

Array = NDArray[np.float64]
TICK = 1e-3  # s
LEAD = 3.0  # s without work in front of and behind a job
GROUPS = 8  # racks with a course of their own, where they do not move together


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """Work that alternates between much and little power.

    step: s from one begin to the next; working: share of it at `high`; high, low: shares
    (fractions) of TDP; core: share of the energy above idle that the clock changes; overshoot:
    ratio to `high` in the first moments; skew: s between racks; together: whether all racks move
    as one.
    """

    title: str
    step: Seconds
    working: Fraction
    high: Fraction
    low: Fraction
    core: Fraction
    overshoot: Ratio
    skew: Seconds
    together: bool


def pattern(name: str) -> Pattern:
    """One of the catalog: 'training' or 'inference'."""
    return catalog.load("swings", name).build(Pattern)


class Course(msgspec.Struct, frozen=True):
    """W of one GPU of each group of racks (a row) at every tick; slower: by what factor steps are.

    seconds: of the whole, s; step: s of one step as it came out.
    """

    watts: Array
    slower: float
    step: float

    @property
    def seconds(self) -> float:
        """Length, s."""
        return float(self.watts.shape[1] * TICK)


def course(
    kind: Pattern, cluster: Cluster, seconds: float, cap: float | None = None, seed: int = 0
) -> Course:
    """`seconds` of a job between a lead and an end without work, GPUs capped at `cap` W."""
    chip = cluster.chip
    tdp, idle = float(chip.tdp), float(chip.idle_power)
    high, low = (max(idle, float(share) * tdp) for share in (kind.high, kind.low))
    work = work_of(kind.step * kind.working, 0.9, kind.core, high, idle)
    run = capped(work, np.inf if cap is None else cap)
    busy, waiting = float(run.seconds), float(kind.step * (1 - kind.working))
    high = float(run.watts)
    peak = min(high * kind.overshoot, tdp * law().peak)
    if cap is not None:
        low = min(low, cap)
    groups = 1 if kind.together else GROUPS
    length = round(seconds / TICK)
    made = np.full((groups, length), idle)
    lead = min(LEAD, seconds / 8)
    inside = np.arange(round(lead / TICK), length - round(lead / TICK))
    draws = np.random.default_rng(seed)
    for row in made:
        row[inside] = _steps(len(inside), busy, waiting, kind.together, draws)(high, low, peak)
    return Course(made, (busy + waiting) / float(kind.step), busy + waiting)


class _steps:  # noqa: N801
    """When a row works: begins of steps, regular or drawn."""

    def __init__(
        self, ticks: int, busy: float, waiting: float, regular: bool, draws: np.random.Generator
    ) -> None:
        count = int(ticks * TICK / (busy + waiting) * 2) + 8
        on, off = np.full(count, busy), np.full(count, waiting)
        first = 0.0
        if not regular:
            on, off = draws.exponential(busy, count), draws.exponential(waiting, count)
            first = float(draws.uniform(0, busy + waiting))
        begins = np.concatenate([[0.0], np.cumsum(on + off)[:-1]]) - first
        time = np.arange(ticks) * TICK + 1e-9
        at = np.searchsorted(begins, time, side="right") - 1
        self.since = time - begins[at]
        self.working = self.since < on[at]

    def __call__(self, high: float, low: float, peak: float) -> Array:
        """W at every tick."""
        early = self.working & (self.since < law().peak_time)
        return np.where(early, peak, np.where(self.working, high, low))
