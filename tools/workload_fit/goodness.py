"""Goodness of fit: how far generated traces are from the sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.trace import Trace
from racktwin.serving.workload import Workload

Floats = NDArray[np.float64]
SEEDS = range(5)
POINTS = {"p50": 50, "p90": 90, "p99": 99}


def goodness(workload: Workload, sample: Trace, resolution: float) -> dict[str, float]:
    """Distances (1): ks the largest between distributions, the rest relative errors.

    gap_cv, prefix_hit: of the generated traces, with those of the sample behind them.
    """
    made = [workload.trace(len(sample), seed=seed) for seed in SEEDS]
    found: dict[str, float] = {"requests": len(sample)}
    for name in ("input", "output"):
        real = getattr(sample, name)
        drawn = np.concatenate([getattr(trace, name) for trace in made])
        found[f"{name}_ks"] = distance(real, drawn)
        found[f"{name}_mean"] = float(drawn.mean() / real.mean() - 1)
        for point, percent in POINTS.items():
            at = np.percentile(real, percent)
            found[f"{name}_{point}"] = float(np.percentile(drawn, percent) / at - 1)
    found["gap_cv"] = float(np.mean([variation(trace.arrival, resolution) for trace in made]))
    found["gap_cv_sample"] = variation(sample.arrival, resolution)
    if sample.block_size and workload.block_size:
        found["prefix_hit"] = float(np.mean([hit(trace) for trace in made]))
        found["prefix_hit_sample"] = hit(sample)
    requests = found.pop("requests")
    return {"requests": requests} | {name: float(f"{each:.3g}") for name, each in found.items()}


def distance(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Kolmogorov-Smirnov distance of two samples (1)."""
    points = np.union1d(one, other)
    shares = [
        np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (one, other)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def variation(arrival: Floats, resolution: float) -> float:
    """CV of the gaps (1), with time in steps of `resolution` s as in the sample."""
    stamps = np.rint(arrival / resolution) * resolution if resolution else arrival
    gaps = np.diff(stamps)
    return float(gaps.std() / gaps.mean()) if gaps.any() else 0.0


def hit(trace: Trace) -> float:
    """Share of the input that an endless prefix cache holds (1)."""
    return float(trace.cached.sum() / trace.input.sum())
