"""How many experts a step touches: the weights that must be read.

Balanced: every choice of experts is as likely. Skewed ("power_law_1.01"): as the collector of the
measured tables draws it, an expert's share of the visits is log-uniform over a range and then
rounded to whole visits; the range is 0.01 to 2 while there are fewer visits than experts, else 1
to 0.8 x tokens. With it no measured kernel reads its weights faster than about 0.9 of the HBM peak.
"""

from __future__ import annotations

import numpy as np

from racktwin.kernels.roofline import Array, Sizes

_FEW = (0.01, 2.0)
_MANY = 0.8


def touched(tokens: Sizes, per_visit: float, imbalance: str) -> Array:
    """Share of the experts that at least one of `tokens` tokens is sent to.

    per_visit: tokens it takes until each expert is visited once on average.
    """
    count = np.asarray(tokens, float)
    even: Array = -np.expm1(count * np.log1p(-min(1 / per_visit, 1 - 1e-12)))
    if imbalance == "balanced":
        return even
    visits = np.maximum(count, 1.0) / per_visit
    few = _rounded_up(visits, np.asarray(_FEW[0]), np.asarray(_FEW[1]))
    many = _rounded_up(visits, np.asarray(1.0), np.maximum(_MANY * count, 2.0))
    # One law after the other, each fading into the next over a doubling of the tokens.
    to_few, to_many = (np.clip(np.log2(visits) + late, 0, 1) for late in (2, 0))
    skewed = even + to_few * (np.minimum(few, even) - even)
    return np.asarray(skewed + to_many * (np.minimum(many, even) - skewed))


def _rounded_up(visits: Array, low: Array, high: Array) -> Array:
    """Share of experts with half a visit or more, weights log-uniform over [low, high].

    visits: mean visits of an expert.
    """
    span = np.log(high / low)
    mean = (high - low) / span
    least = 0.5 * mean / visits
    return np.asarray(np.clip(1 - np.log(np.maximum(least, low) / low) / span, 0, 1))
