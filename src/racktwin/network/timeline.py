"""Use of each tier over time, from the log of a run, in equal bins."""

from __future__ import annotations

import msgspec
import numpy as np

from racktwin.network.flow import Run
from racktwin.network.links import Links
from racktwin.network.problem import Floats
from racktwin.network.tier import TIERS

BINS = 100


class Timeline(msgspec.Struct, frozen=True):
    """edges: of the bins, s. mean, peak: by tier, fraction of line rate: all links, the busiest."""

    edges: Floats
    mean: dict[str, Floats]
    peak: dict[str, Floats]


def timeline(run: Run, links: Links, begin: float, bins: int = BINS) -> Timeline:
    """Tiers that carried anything, from `begin` (s) to the end in `bins` (count) bins."""
    until = np.concatenate([[begin], run.until])
    edges = np.linspace(begin, until[-1], bins + 1)
    total = np.bincount(links.tier, links.line, minlength=len(TIERS))
    first = np.searchsorted(until, edges[:-1], side="right") - 1
    last = np.maximum(np.searchsorted(until, edges[1:], side="left"), first + 1)
    mean, peak = {}, {}
    for tier, name in enumerate(TIERS):
        carried = np.concatenate([[0.0], np.cumsum(run.bytes[:, tier])])
        if carried[-1] <= 0:
            continue
        rate = np.diff(np.interp(edges, until, carried)) / np.diff(edges)
        mean[name] = rate / total[tier]
        rows = zip(first, last, strict=True)
        peak[name] = np.array([run.peak[low:high, tier].max() for low, high in rows])
    return Timeline(edges, mean, peak)
