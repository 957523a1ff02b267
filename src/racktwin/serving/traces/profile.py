"""Profile: arrivals over time, kept in bins that widen as a trace goes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BINS = 1024
PARTS = 10
UNEVEN = 10.0  # times the rate of the first part, beyond which a user is told
FEWEST = 200  # requests below which a rate says nothing


class Profile:
    """Counts of arrivals in `BINS` bins of `width` seconds."""

    def __init__(self) -> None:
        self.width = 1.0
        self.counts = np.zeros(BINS, np.int64)
        self.end = 0.0

    def add(self, arrival: NDArray[np.float64]) -> None:
        """Count more arrivals, s from the start, none below 0."""
        if not len(arrival):
            return
        self.end = max(self.end, float(arrival.max()))
        while self.end >= self.width * BINS:
            pairs = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.concatenate([pairs, np.zeros(BINS // 2, np.int64)])
            self.width *= 2
        self.counts += np.bincount((arrival / self.width).astype(np.int64), minlength=BINS)

    def rates(self) -> NDArray[np.float64]:
        """Arrivals in each tenth of the time, requests/s."""
        edges = np.linspace(0, self.end, PARTS + 1)
        grid = np.arange(BINS + 1) * self.width
        reached = np.interp(edges, grid, np.concatenate([[0], np.cumsum(self.counts)]))
        rates: NDArray[np.float64] = np.diff(reached) / (self.end / PARTS)
        return rates

    def warning(self) -> str:
        """What a replay from the start would miss, '' when the load is even enough."""
        if self.counts.sum() < FEWEST or not self.end:
            return ""
        rates = self.rates()
        first, rest = float(rates[0]), float(rates[1:].max())
        factor = rest / max(first, 1e-12)
        if 1 / UNEVEN < factor < UNEVEN:
            return ""
        return (
            f"the load is uneven: {first:.3g} requests/s in the first tenth of the time, up to "
            f"{rest:.3g} after it ({factor:,.0f} times); a short run sees the start only"
            if factor >= UNEVEN
            else f"the load is uneven: {first:.3g} requests/s in the first tenth of the time, "
            f"no more than {rest:.3g} after it"
        )
