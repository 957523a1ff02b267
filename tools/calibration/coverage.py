"""How often measurements fall into intervals made without them."""

from __future__ import annotations

import numpy as np

from calibration.spread import FIGURES, ratios, traits
from racktwin.evidence.calibration.study import FOLDS
from racktwin.evidence.confidence import ENOUGH
from racktwin.evidence.error import folds
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.prediction import Prediction

HEAD = "| figure | rows | inside | median width | lower quartile |"


def table(rows: list[Measurement], folded: list[Prediction]) -> list[str]:
    """A line per figure: the share inside the 80 % interval of its kind, and half its width.

    The interval of a row comes from the rows of its chip, engine and role (of its role, where
    those are few) on other curves.
    """
    dealt = folds((row.curve for row in rows), FOLDS)
    fold = np.array([dealt[row.curve] for row in rows])
    kinds = [traits(row) for row in rows]
    names = np.array(["|".join(kind) for kind in kinds])
    roles = np.array([kind[2] for kind in kinds])
    lines = [HEAD, "|---|---:|---:|---:|---:|"]
    for figure in FIGURES:
        found = ratios(rows, folded, figure)
        known = np.isfinite(found)
        inside, widths = [], []
        for row in np.flatnonzero(known):
            others = known & (fold != fold[row])
            alike = others & (names == names[row])
            used = alike if alike.sum() >= ENOUGH else others & (roles == roles[row])
            low, high = np.quantile(found[used], [0.1, 0.9])
            inside.append(low <= found[row] <= high)
            widths.append((high - low) / 2)
        middle = 100 * float(np.median(widths))
        tight = 100 * float(np.quantile(widths, 0.25))
        share = 100 * float(np.mean(inside))
        lines.append(
            f"| {figure} | {len(inside)} | {share:.0f} % | ±{middle:.0f} % | ±{tight:.0f} % |"
        )
    return lines
