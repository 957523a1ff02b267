"""Limits on what users feel of a request: one within all of them is a good one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.units import Seconds


class Limits(msgspec.Struct, frozen=True):
    """Latencies a good request stays within, s."""

    ttft: float = math.inf
    tpot: float = math.inf
    e2e: float = math.inf

    @property
    def text(self) -> str:
        """In words: 'TTFT 1 s, TPOT 50 ms'; '' where there is none."""
        given = msgspec.structs.asdict(self).items()
        return ", ".join(f"{name.upper()} {Seconds(s)}" for name, s in given if math.isfinite(s))

    def over(self, other: Limits) -> Limits:
        """Each of these limits, s, and that of `other` where there is none."""
        own, rest = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return Limits(
            **{name: own[name] if math.isfinite(own[name]) else rest[name] for name in own}
        )


class Bounds(NamedTuple):
    """The limits of each of several requests, s."""

    ttft: NDArray[np.float64]
    tpot: NDArray[np.float64]
    e2e: NDArray[np.float64]

    @staticmethod
    def of(limits: Sequence[Limits], which: NDArray[np.int64]) -> Bounds:
        """Limits by index, s."""
        rows = np.array([[each.ttft, each.tpot, each.e2e] for each in limits])
        return Bounds(*rows[which].T)
