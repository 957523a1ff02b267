"""Latency curves: the two shapes a collective's time takes over its size.

`Curve` is what one group of ranks measured: a few alpha-beta pieces, one per protocol the library
switches between. `Rule` is what a whole generation of links obeys: it reaches sizes and rank counts
nobody measured.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.network.volume import Operation, switch_share, wire_share

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
    largest: bytes of the largest message measured.
    """

    upto: tuple[float, ...]
    alpha: tuple[float, ...]
    bandwidth: tuple[float, ...]
    largest: float
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
    """Seconds over bytes and ranks: alpha + wire + 2 sqrt(ramp x wire), the law of a pipeline.

    alpha: start-up of a pair (s); per_rank: added by each further rank (s); bandwidth: B/s per
    direction with many ranks; pair_loss: share of it lost as 1 / ranks^2, for few ranks open few
    channels; ramp: time to fill the pipeline (s); in_switch: B/s when the NVLink switch reduces
    (NVLS), 0 where it does not; switch_alpha: start-up of that (s), whatever the ranks.
    """

    alpha: float
    per_rank: float
    bandwidth: float
    pair_loss: float
    ramp: float
    in_switch: float = 0.0
    switch_alpha: float = 0.0
    error: FitError | None = None

    def seconds(
        self,
        operation: Operation,
        size: npt.ArrayLike,
        ranks: int,
        only: Literal["", "ring", "switch"] = "",
    ) -> Array:
        """Time of `size` bytes among `ranks` ranks; the faster path counts, or `only` one.

        Few ranks start by a ring whichever path the bytes take; `only` the switch by itself.
        """
        ring = self.bandwidth * (1.0 - self.pair_loss / ranks**2)
        per_byte = wire_share(operation, ranks) / ring
        if self.in_switch and only != "ring":
            reduced = switch_share(ranks) / self.in_switch
            per_byte = reduced if only == "switch" else min(per_byte, reduced)
        wire = np.asarray(size, dtype=np.float64) * per_byte
        alpha = self.alpha + self.per_rank * (ranks - 1)
        if only == "switch":
            alpha = self.switch_alpha
        return np.asarray(alpha + wire + 2.0 * np.sqrt(self.ramp * wire))


def smooth_sum(first: npt.ArrayLike, second: npt.ArrayLike, power: float) -> Array:
    """(first^p + second^p)^(1/p), any unit: the larger for large `power`, beyond the sum below 1.

    power: the exponent p, dimensionless.
    """
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    large, small = np.maximum(first, second), np.minimum(first, second)
    ratio = np.divide(small, large, out=np.zeros_like(large + small), where=large > 0)
    return np.asarray(large * (1.0 + ratio**power) ** (1.0 / power))
