"""How often measurements fall into intervals made without them."""

from __future__ import annotations

import numpy as np

from calibration.spread import FIGURES, ratios, traits
from racktwin.evidence.calibration.study import FREE, Study
from racktwin.evidence.confidence import NAMES, QUEUED, interval
from racktwin.evidence.prediction import Prediction

HEAD = "| figure | rows | inside | median width | lower quartile |"


def table(study: Study, folded: list[Prediction]) -> list[str]:
    """A line per figure: the share inside the 80 % interval of its kind, and half its width.

    The interval of a row is that without the rows of its fold.
    """
    rows, folds = study.scored.rows, study.fold
    lines = [HEAD, "|---|---:|---:|---:|---:|"]
    for figure in FIGURES:
        found = ratios(rows, folded, figure)
        inside, widths = [], []
        for index in np.flatnonzero(np.isfinite(found)):
            named = dict(zip(NAMES, traits(rows[index]), strict=True))
            regime = QUEUED if folded[index].limit != FREE else ""
            band = interval(figure, **named, regime=regime, fold=int(folds[index]))  # type: ignore[arg-type]
            inside.append(band.low <= found[index] <= band.high)
            widths.append((band.high - band.low) / 2)
        middle = 100 * float(np.median(widths))
        tight = 100 * float(np.quantile(widths, 0.25))
        share = 100 * float(np.mean(inside))
        lines.append(
            f"| {figure} | {len(inside)} | {share:.0f} % | ±{middle:.0f} % | ±{tight:.0f} % |"
        )
    return lines
