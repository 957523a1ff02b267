"""What steadies a GPU's and a rack's power: the driver's smoothing and the shelves' storage.

The driver (Blackwell and later) lets power rise at a rate, keeps it above a floor by burning
while a job runs, and lets it fall at a rate once it was low for a while. The storage in GB300's
power shelves takes what lies above a slow mean, and gives what lies below.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.pattern import TICK
from racktwin.units import Fraction, Seconds

Array = NDArray[np.float64]
NEAR = 1e-9


class Smoothing(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, as shares of TDP.

    floor: burnt at least while a job runs (fraction); ramp_up, ramp_down: fraction of TDP in one
    s; hysteresis: s of low power until the ramp down begins; storage_loss: of the energy through
    the storage (fraction).
    """

    title: str
    floor: Fraction
    ramp_up: Fraction
    ramp_down: Fraction
    hysteresis: Seconds
    storage_loss: Fraction


def smoothing() -> Smoothing:
    """The catalog's settings."""
    return catalog.load("swings", "smoothing").build(Smoothing)


class Steadied(msgspec.Struct, frozen=True):
    """W after smoothing; burnt: J spent for nothing; held: J of work that had to wait, 0 or more.

    The two are of one row's GPU or rack, one value a row.
    """

    watts: Array
    burnt: Array
    held: Array


def driven(demand: Array, tdp: float, idle: float, settings: Smoothing) -> Steadied:
    """The driver's smoothing of `demand` (rows x ticks, W) of GPUs with `tdp` and `idle` W."""
    out = np.stack([_driven(row.tolist(), tdp, idle, settings) for row in demand])
    over = (out - demand) * TICK
    burnt, held = np.maximum(over, 0.0), np.maximum(-over, 0.0)
    return Steadied(out, burnt.sum(axis=1), held.sum(axis=1))


def _driven(demand: list[float], tdp: float, idle: float, settings: Smoothing) -> Array:
    """One row; plain numbers, since each tick needs the one before."""
    up, down = settings.ramp_up * tdp * TICK, settings.ramp_down * tdp * TICK
    floor = max(float(settings.floor) * tdp, idle)
    patience = round(settings.hysteresis / TICK)
    power, quiet, out = demand[0], patience + 1, []
    for asked in demand:
        quiet = 0 if asked > idle + NEAR else quiet + 1
        least = max(asked, floor if quiet <= patience else power - down)
        power = min(least, power + up)
        out.append(power)
    return np.asarray(out)


def stored(demand: Array, joules: float, loss: float) -> Steadied:
    """A rack's draw behind a store of `joules` J that evens out `demand` (rows x ticks, W).

    It follows an exponential mean of demand. What is in the store then falls with that mean, by
    the time constant for each W: constant = store / swing uses all of it for the largest swing
    and never more. loss: fraction of what goes through it.
    """
    if joules <= 0:
        zero = np.zeros(len(demand))
        return Steadied(demand.copy(), zero, zero)
    swing = np.maximum(demand.max(axis=1) - demand.min(axis=1), 1.0)
    constant = joules / swing  # s
    share = -np.expm1(-TICK / constant)
    out = np.stack([_mean(row.tolist(), part) for row, part in zip(demand, share, strict=True)])
    lost = loss * np.abs(out - demand).sum(axis=1) * TICK / 2
    out = out + (lost / (demand.shape[1] * TICK))[:, None]
    return Steadied(out, lost, np.zeros(len(demand)))


def _mean(demand: list[float], share: float) -> Array:
    """Exponential mean of one row, `share` (fraction) of the way at every tick."""
    mean, out = demand[0], []
    for asked in demand:
        mean += share * (asked - mean)
        out.append(mean)
    return np.asarray(out)
