"""Latency curves: the two shapes a collective's time takes over its size.

`Curve` is what one group of ranks measured: a few alpha-beta pieces, one per protocol the library
switches between. `Rule` is what a whole generation of links obeys: it reaches sizes and rank counts
nobody measured.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class FitError(msgspec.Struct, frozen=True):
    """How far a fit lies from its measurements, as fractions: |fit / measured - 1|.

    median, p90: over the sizes fitted; held_median, held_p90: each size predicted without itself.
    """

    median: float
    p90: float
    held_median: float
    held_p90: float


class Curve(msgspec.Struct, frozen=True):
    """Seconds over bytes, alpha + bytes / bandwidth in each piece.

    upto: bytes at which each piece but the last ends. alpha (s) and bandwidth (B/s): one per piece.
    """

    upto: tuple[float, ...]
    alpha: tuple[float, ...]
    bandwidth: tuple[float, ...]
    error: FitError | None = None

    def seconds(self, size: npt.ArrayLike) -> Array:
        """Time of messages of `size` bytes (any shape); never falls where the size grows."""
        size = np.asarray(size, dtype=np.float64)
        alpha, slope = np.asarray(self.alpha), 1.0 / np.asarray(self.bandwidth)
        ends = np.asarray(self.upto, dtype=np.float64)
        reached = np.maximum.accumulate(alpha[:-1] + slope[:-1] * ends)
        floor = np.concatenate([[0.0], reached])
        piece = np.searchsorted(ends, size, side="left")
        return np.asarray(np.maximum(alpha[piece] + slope[piece] * size, floor[piece]))


class Rule(msgspec.Struct, frozen=True):
    """Seconds over wire bytes and ranks: (alpha^p + (wire / bandwidth)^p)^(1/p).

    alpha: start-up of a pair (s); per_rank: added by each further rank (s); bandwidth: B/s per
    direction with many ranks; pair_loss: share of it lost as 1 / ranks^2, for few ranks open few
    channels; in_switch: factor on the bandwidth from `switch_from` ranks, where NCCL lets the
    NVLink switch reduce (NVLS).
    """

    alpha: float
    per_rank: float
    bandwidth: float
    pair_loss: float
    power: float
    in_switch: float = 1.0
    switch_from: int = 8
    error: FitError | None = None

    def seconds(self, wire: npt.ArrayLike, ranks: int) -> Array:
        """Time to move `wire` bytes per rank and direction among `ranks` ranks."""
        alpha = self.alpha + self.per_rank * (ranks - 1)
        bandwidth = self.bandwidth * (1.0 - self.pair_loss / ranks**2)
        if ranks >= self.switch_from:
            bandwidth *= self.in_switch
        return smooth_sum(alpha, np.asarray(wire, dtype=np.float64) / bandwidth, self.power)


def smooth_sum(first: npt.ArrayLike, second: npt.ArrayLike, power: float) -> Array:
    """(first^p + second^p)^(1/p): the larger one for large p, more than the sum for p < 1."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    large, small = np.maximum(first, second), np.minimum(first, second)
    ratio = np.divide(small, large, out=np.zeros_like(large + small), where=large > 0)
    return np.asarray(large * (1.0 + ratio**power) ** (1.0 / power))
