"""Laws of a sample: lengths by quantiles, gaps by their variation, the rate by its profile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TAIL = [0.99, 0.995, 0.999]
WINDOWS = (5, 10, 20)  # of time stamps, in which arrivals are counted


def lengths(sample: NDArray[Any], digits: int = 0) -> dict[str, Any]:
    """The empirical law of a sample: quantiles as close as its size allows, at most every 2 %."""
    if len(set(sample)) == 1:
        return {"mean": _short(float(sample[0]), digits)}
    steps = int(np.clip(len(sample) // 8, 4, 50))
    levels = np.linspace(0, 1, steps + 1).round(4).tolist()
    law: dict[str, Any] = {"law": "empirical"}
    if tail := [level for level in TAIL if (1 - level) * len(sample) >= 2 and level > levels[-2]]:
        levels = [*levels[:-1], *tail, 1.0]
        law["levels"] = [_short(level, 4) for level in levels]
    return law | {"values": [_short(each, digits) for each in np.quantile(sample, levels)]}


def arrivals(arrival: Floats, step: float, resolution: float) -> dict[str, Any]:
    """The law of arrivals (s): rate, profile in steps of `step` s, variation of the gaps."""
    rate = (len(arrival) - 1) / (arrival[-1] - arrival[0])
    law: dict[str, Any] = {"law": "gamma", "rate": float(f"{rate:.4g}")}
    if step:
        counts = np.bincount((arrival // step).astype(int)).astype(float)
        law["rate"] = float(f"{len(arrival) / (len(counts) * step):.4g}")
        edges = np.arange(len(counts) + 1) * step
        reached = np.concatenate([[0], np.cumsum(counts)])
        gaps = np.diff(np.interp(arrival, edges, reached))
        law |= {"step": f"{step:g} s", "profile": counts.astype(int).tolist()}
    else:
        gaps = np.diff(arrival)
    cv = scatter(arrival, resolution) ** 0.5 if resolution else float(gaps.std() / gaps.mean())
    if abs(cv - 1) < 0.05:
        return law | {"law": "poisson"}
    return law | {"cv": float(f"{cv:.3g}")}


def scatter(arrival: Floats, resolution: float) -> float:
    """Variance over mean of the counts in windows much longer than the steps of time, s."""
    ratios = []
    for window in WINDOWS:
        counts = np.bincount((arrival // (window * resolution)).astype(int))[:-1]
        ratios.append(counts.var() / counts.mean())
    return float(np.median(ratios))


def _short(value: float, digits: int) -> float | int:
    rounded = round(float(value), digits)
    return int(rounded) if rounded == int(rounded) else rounded
