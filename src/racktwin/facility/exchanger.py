"""Counter-flow heat exchangers by effectiveness and number of transfer units.

Capacity rates (mass flow times heat capacity) and conductances are in W/K, temperatures in °C.
Equations: Incropera and others, Fundamentals of Heat and Mass Transfer, chapter 11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BALANCED = 1e-6  # capacity rates this close are equal


def effectiveness(conductance: Floats, hot: Floats, cold: Floats) -> Floats:
    """Share of the largest possible heat that passes, 0..1; conductance, hot, cold: W/K."""
    least, most = np.minimum(hot, cold), np.maximum(hot, cold)
    ratio, units = least / most, conductance / least
    even = np.abs(1 - ratio) < BALANCED
    spread = np.exp(-units * (1 - np.where(even, 0.0, ratio)))
    crossed = (1 - spread) / (1 - np.where(even, 0.0, ratio) * spread)
    return np.asarray(np.where(even, units / (1 + units), crossed))


def conductance(share: float, hot: float, cold: float) -> float:
    """W/K that let a share (0..1) of the largest possible heat pass; hot, cold: W/K."""
    least, most = min(hot, cold), max(hot, cold)
    ratio = least / most
    if abs(1 - ratio) < BALANCED:
        return least * share / (1 - share)
    return float(least / (ratio - 1) * np.log((share - 1) / (share * ratio - 1)))


def approach(heat: Floats, conductance: Floats, hot: Floats, cold: Floats) -> Floats:
    """K from the cold side's inlet to the hot side's outlet at a heat in W; never below 0.

    conductance, hot, cold: W/K.
    """
    largest = effectiveness(conductance, hot, cold) * np.minimum(hot, cold)
    return np.asarray(heat / largest - heat / hot)
