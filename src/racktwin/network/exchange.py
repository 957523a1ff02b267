"""The exchange of tokens between experts: time of one phase of one library."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.network.curve import Array, FitError, smooth_sum

Copies = Literal["rank", "expert"]
"""What a library sends of a token: one copy per rank it touches, or one per expert chosen."""


def copies_sent(copies: Copies, ranks: float, top_k: int, *, balanced: bool = False) -> float:
    """Copies of a token that leave for another of `ranks` ranks, a count.

    One per expert chosen (top_k), or one per rank touched: ranks * (1 - (1 - 1/ranks)^top_k) where
    routing is uniform, min(ranks, top_k) where a benchmark spreads tokens as far as it can
    (`balanced`). One in `ranks` of them stays at home.
    """
    if copies == "expert":
        sent = float(top_k)
    elif balanced:
        sent = float(min(ranks, top_k))
    else:
        sent = ranks * (1.0 - (1.0 - 1.0 / ranks) ** top_k)
    return sent * (1.0 - 1.0 / ranks)


class Exchange(msgspec.Struct, frozen=True):
    """Seconds of a phase: (alpha^p + work^p)^(1/p), p = power, work = tokens x time per token.

    A token takes per_token (s) and, for each copy sent to another rank, per_copy (s) and its bytes
    over bandwidth (B/s). alpha: start-up (s). ranks: what was measured, at least; per_doubling,
    fan_loss: relative growth of alpha and of the time per byte with each doubling of the ranks
    beyond that, ratios; per_expert: relative growth of alpha with each 128 experts, a ratio.
    """

    alpha: float
    per_token: float
    per_copy: float
    bandwidth: float
    power: float
    ranks: int
    per_doubling: float = 0.0
    fan_loss: float = 0.0
    per_expert: float = 0.0
    error: FitError | None = None

    def seconds(
        self, tokens: npt.ArrayLike, copies: npt.ArrayLike, size: float, ranks: int, experts: int
    ) -> Array:
        """Time of `tokens` tokens per rank among `ranks` ranks that hold `experts` experts.

        copies: copies of a token that leave its rank, a count; size: bytes of one copy.
        """
        doublings = max(float(np.log2(ranks / self.ranks)), 0.0)
        alpha = self.alpha * (1.0 + self.per_doubling * doublings)
        alpha *= 1.0 + self.per_expert * experts / 128
        copy = self.per_copy + size / self.bandwidth * (1.0 + self.fan_loss * doublings)
        work = np.asarray(tokens, np.float64) * (self.per_token + np.asarray(copies) * copy)
        return smooth_sum(alpha, work, self.power)
