"""Flows over time on a fabric: max-min fair rates, service levels, congestion control."""

from __future__ import annotations

import msgspec
import numpy as np

from racktwin.network.advance import advance
from racktwin.network.backpressure import Rules
from racktwin.network.demand import Demand
from racktwin.network.problem import Floats, Ints, Problem, log, workspace
from racktwin.network.routing import Control, congestion
from racktwin.network.tier import TIERS

EXACT = 2000  # classes up to which every end hands bandwidth on at once
GRAIN = 0.02  # else, fraction of the time that the quickest flow takes
TOLERANCE = 1e-6  # relative, of conservation


class Run(msgspec.Struct, frozen=True):
    """What flows did.

    finish: s, of each class. until: end of each interval, s; bytes: B carried by each tier in it;
    peak: fraction of line rate of the busiest link. used: links in use; carried: B over each.
    steps: times that rates were computed; grain: see `Rules`.
    """

    finish: Floats
    until: Floats
    bytes: Floats
    peak: Floats
    used: Ints
    carried: Floats
    steps: int
    grain: float


def run(
    demand: Demand,
    control: Control = "telemetry",
    isolated: bool = True,
    grain: float | None = None,
) -> Run:
    """Carry every byte of `demand`.

    control: whether senders slow down when a receiver is congested; isolated: whether service
    levels have queues of their own; grain: fraction of the time of the quickest flow within which
    ends and starts count as one, 0 is exact, None chooses by the number of classes.
    """
    problem, used = demand.problem()
    if grain is None:
        grain = 0.0 if len(problem.size) <= EXACT else GRAIN
    levels = int(problem.level.max()) + 1 if isolated else 1
    rules = Rules(
        ranks=int(problem.rank.max()) + 1,
        levels=levels,
        controlled=control != "none",
        reaction=float(congestion().reaction),
        loss=float(congestion().victim_loss),
        grain=grain,
    )
    work, record = workspace(problem, levels), log(len(TIERS))
    rows, steps, fullest = advance(problem, work, rules, record)
    _conserved(problem, work.carried, fullest)
    return Run(
        finish=work.finish,
        until=record.until[:rows],
        bytes=record.bytes[:rows],
        peak=record.peak[:rows],
        used=used,
        carried=work.carried,
        steps=steps,
        grain=grain,
    )


def _conserved(problem: Problem, carried: Floats, fullest: float) -> None:
    """No link carries more than it can, and what was asked is what was carried."""
    assert fullest <= 1 + TOLERANCE, f"a link carried {fullest:.9f} of its capacity"
    classes = np.repeat(np.arange(len(problem.size)), np.diff(problem.head))
    asked = np.bincount(
        problem.link, problem.share * problem.size[classes], minlength=len(problem.capacity)
    )
    assert np.allclose(carried, asked, rtol=TOLERANCE), "bytes carried differ from bytes asked"
