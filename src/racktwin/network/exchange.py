"""The exchange of tokens between experts: what MoE dispatch and combine cost per rank."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.network.curve import Array, FitError, smooth_sum

Copies = Literal["rank", "expert"]
"""What a library sends of a token: one copy per rank it touches, or one per expert chosen."""


def touched(ranks: float, top_k: int, *, balanced: bool = False) -> float:
    """Ranks (own included) that hold at least one of a token's experts.

    Uniform routing: ranks * (1 - (1 - 1/ranks)^top_k). `balanced` is the benchmarks' routing, that
    spreads a token over as many ranks as it can: min(ranks, top_k).
    """
    if balanced:
        return float(min(ranks, top_k))
    return float(ranks * (1.0 - (1.0 - 1.0 / ranks) ** top_k))


class Exchange(msgspec.Struct, frozen=True):
    """Seconds of one phase of one library: (alpha^p + (bytes / bandwidth)^p)^(1/p).

    alpha: s; per_rank, per_expert: relative growth of alpha with each further rank and with each
    further 128 experts; bandwidth: B/s of copies sent, own rank included; fan_loss: relative fall
    of the bandwidth with each doubling of ranks beyond `ranks`, the number measured.
    """

    alpha: float
    bandwidth: float
    ranks: int
    power: float = 1.0
    per_rank: float = 0.0
    per_expert: float = 0.0
    fan_loss: float = 0.0
    error: FitError | None = None

    def seconds(self, size: npt.ArrayLike, ranks: int, experts: int = 0) -> Array:
        """Time of `size` bytes of copies sent per rank; `experts` are spread over all ranks."""
        alpha = self.alpha * (1.0 + self.per_rank * max(ranks - self.ranks, 0))
        alpha *= 1.0 + self.per_expert * experts / 128
        doublings = max(float(np.log2(ranks / self.ranks)), 0.0)
        bandwidth = self.bandwidth / (1.0 + self.fan_loss * doublings)
        return smooth_sum(alpha, np.asarray(size, np.float64) / bandwidth, self.power)
