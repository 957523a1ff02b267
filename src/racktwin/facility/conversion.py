"""What a stage of a power chain loses, W, as a function of what it passes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from racktwin.hardware.stage import Curve, Stage

Array = NDArray[np.float64]


def stage_loss(stage: Stage, out: ArrayLike) -> Array:
    """W lost in units of `stage` that pass on `out` W each; nothing in a unit without power."""
    passed = np.asarray(out, float)
    if stage.curve is not None:
        return curve_loss(stage.curve, float(stage.rating), passed)
    load = passed / stage.rating
    lost = stage.rating * (stage.standing + stage.series * load**2)
    return np.where(passed > 0, lost, 0.0)


def curve_loss(curve: Curve, rating: ArrayLike, out: ArrayLike) -> Array:
    """W lost at `out` W of a device whose efficiency was given at some loads of its `rating`, W.

    The loss, not the efficiency, is interpolated: it is nearly straight between the points, and
    goes on along its first and last pieces outside of them, where efficiency would not.
    """
    load = np.asarray(curve.load, float)
    lost = load / np.asarray(curve.efficiency, float) - load
    slope = np.diff(lost) / np.diff(load)
    passed, size = np.asarray(out, float), np.asarray(rating, float)
    use = np.divide(passed, size, out=np.zeros(np.broadcast(passed, size).shape), where=size > 0)
    inside = np.interp(use, load, lost)
    below = lost[0] + slope[0] * np.minimum(use - load[0], 0.0)
    above = slope[-1] * np.maximum(use - load[-1], 0.0)
    share = np.where(use < load[0], np.maximum(below, 0.0), inside + above)
    return np.asarray(np.where(passed > 0, share * size, 0.0))


def bus_loss(share: float, half: float, through: ArrayLike) -> Array:
    """W lost on a rack's bus bar that carries `through` W.

    share: fraction lost at `half` W; the loss grows with the square of the current (Joule).
    """
    passed = np.asarray(through, float)
    return share * passed**2 / half if half else 0.0 * passed
