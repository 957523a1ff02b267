"""Saturation: the highest load at which a deployment keeps its objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from racktwin.planning.slo import Slo
from racktwin.serving import saturation
from racktwin.serving.limits import Limits
from racktwin.serving.saturation import SHALLOW
from racktwin.serving.steady import Curve, rising

if TYPE_CHECKING:
    from racktwin.planning.trial import Trial

CLOSE = 1.02  # ratio of the lowest load that fails to the highest that holds, in the end
GUESS = 0.9  # of the load at which the steady means reach the limits
SHARES = (0.25, 0.5, 0.75, 0.9)  # of the answer: loads of the curve


class Saturation(msgspec.Struct, frozen=True):
    """highest: the trial at the largest load that holds, None when none does; next: the smallest
    load that fails. curve: all trials, by load.
    """

    highest: Trial | None
    next: Trial | None
    curve: tuple[Trial, ...]

    @property
    def closest(self) -> Trial:
        """The answer, or the trial at the smallest load, which comes closest to the objectives."""
        return self.highest or self.curve[0]


def holds(trial: Trial, slos: Sequence[Slo]) -> bool:
    """Whether the queue has an end and every objective is kept."""
    return not trial.overloaded and all(slo.keeps(trial) for slo in slos)


def broken(trial: Trial, slos: Sequence[Slo]) -> list[str]:
    """What does not hold, in words."""
    if trial.overloaded:
        return ["the queue has no end"]
    return [slo.found(trial) for slo in slos if not slo.keeps(trial)]


def bracket(curve: Curve, slos: Sequence[Slo], limits: Limits, steps: float) -> tuple[float, float]:
    """Where to begin, and the largest load of the steady state; requests/s of the curve.

    limits: of a request, s; steps: tokens it gains after the first.
    """
    curve = curve.take(rising(curve.requests))
    top = float(curve.requests[-1])
    means = {"ttft": curve.ttft, "tpot": curve.tpot, "itl": curve.tpot}
    means["e2e"] = curve.ttft + curve.tpot * steps
    kept = np.full(len(curve.requests), True)
    for slo in slos:
        if slo.figure in means:
            kept &= means[slo.figure] <= slo.limit
    for name, limit in msgspec.structs.asdict(limits).items():
        kept &= (means[name] <= limit) | np.isinf(limit)
    inside = curve.requests[kept & (curve.requests > 0)]
    return max(GUESS * float(inside.max(initial=0.0)), top / SHALLOW), top


def search(
    at: Callable[[float], Trial], guess: float, top: float, slos: Sequence[Slo]
) -> Saturation:
    """Try loads `at` requests/s from `guess` on; none below 1/`SHALLOW` of `top`."""
    found = saturation.search(
        at, lambda trial: holds(trial, slos), guess=guess, top=top, close=CLOSE
    )
    done, low = dict(found.done), found.low
    for share in SHARES if low else ():
        done.setdefault(share * low, at(share * low))
    curve = tuple(done[each] for each in sorted(done))
    return Saturation(found.highest, found.next, curve)
