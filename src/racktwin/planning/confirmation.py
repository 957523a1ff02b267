"""Confirmation: finalists of a plan simulated just below their planned load."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from racktwin.planning.choice import Choice
from racktwin.planning.demand import fixed
from racktwin.planning.part import smallest
from racktwin.planning.plan import SHARE, Plan
from racktwin.planning.trial import Bench, Trial
from racktwin.serving.sample import Spread
from racktwin.units import Seconds


def confirmed(plan: Plan) -> Plan:
    """The plan with a trial of each deployment it shows."""
    trials = tuple(_trial(plan, each) for each in plan.shown)
    return msgspec.structs.replace(plan, trials=trials)


def _trial(plan: Plan, choice: Choice) -> Trial:
    one, count = smallest(choice.deployment)
    parts = count // choice.deployment.copies
    bench = Bench(
        one,
        plan.ask.demand or fixed(plan.ask.traffic),
        copies=parts * choice.busy_copies,
    )
    return bench.at(SHARE * choice.requests / parts)


def misses(plan: Plan) -> Iterator[str]:
    """What the trials say against the ranking, a sentence each, by rank."""
    limits = {"ttft": plan.ask.ttft, "tpot": plan.ask.tpot}
    for rank, trial in enumerate(plan.trials, 1):
        if trial.overloaded:
            yield f"#{rank} does not carry the load: its queue grows without end"
            continue
        for name, limit in limits.items():
            if limit is not None and missed(spread := getattr(trial, name), limit):
                mean, error = Seconds(spread.mean), Seconds(spread.error)
                said = f"{mean} ± {error}" if math.isfinite(spread.error) else f"{mean}"
                yield f"#{rank} misses the limit: {name.upper()} {said} > {Seconds(limit)}"


def missed(spread: Spread, limit: float) -> bool:
    """Whether a simulated mean is above `limit`, s, by more than its interval."""
    error = spread.error if math.isfinite(spread.error) else 0.0
    return spread.mean - error > limit


def remarks(plan: Plan) -> list[str]:
    """Notes of the trials, each once."""
    return list(dict.fromkeys(note for trial in plan.trials for note in trial.notes))
