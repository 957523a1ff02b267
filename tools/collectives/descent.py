"""Least absolute log error by damped Gauss-Newton steps with a numeric slope."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from racktwin.network.curve import Array

STEP = 1e-5
ROUNDS = 40


def descend(residual: Callable[[Array], Array], start: Sequence[float]) -> Array:
    """Parameters near `start` that make the sum of |residual| small."""
    x, damping = np.asarray(start, np.float64), 1e-2
    now = residual(x)
    for _ in range(ROUNDS):
        weight = 1 / np.maximum(np.abs(now), 0.02)
        columns = [(residual(x + step) - now) / STEP for step in STEP * np.eye(len(x))]
        slope = np.stack(columns, axis=1)
        normal = slope.T @ (slope * weight[:, None]) + damping * np.eye(len(x))
        move = np.clip(np.linalg.solve(normal, -slope.T @ (weight * now)), -0.5, 0.5)
        there = residual(x + move)
        if np.abs(there).sum() < np.abs(now).sum():
            x, now, damping = x + move, there, damping / 3
        else:
            damping = min(damping * 5, 1e6)
    return x
