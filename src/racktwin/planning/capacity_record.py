"""An answer on capacity as plain data: schema racktwin/capacity/1."""

from __future__ import annotations

from typing import Any

import msgspec

from racktwin.planning.capacity import Capacity, Sustained
from racktwin.planning.saturation import broken, holds
from racktwin.planning.slo import Slo
from racktwin.planning.trial import Trial
from racktwin.planning.trial_record import limits
from racktwin.planning.trial_record import record as plain


def record(found: Capacity) -> dict[str, Any]:
    """The answer; SI units, rates in requests/s, null where there is no figure."""
    task = found.task
    one = found.best.one
    return {
        "model": one.model.name,
        "cluster": one.cluster.name,
        "engine": one.engine.name,
        "gpus": found.gpus,
        "workload": task.demand.name or None,
        "arrivals": task.demand.arrivals,
        "input_tokens": task.demand.traffic.input,
        "output_tokens": task.demand.traffic.output,
        "objectives": [msgspec.structs.asdict(each) for each in task.slos],
        "limits": limits(task.limits),
        "rate": task.rate,
        "spare_copies": task.spare,
        "seed": task.seed,
        "plan_meets_limits": found.met,
        "answers": [_answer(each, task.slos) for each in found.answers],
        "notes": list(found.notes),
    }


def _answer(one: Sustained, slos: tuple[Slo, ...]) -> dict[str, Any]:
    need, after = one.need, one.found.next
    return {
        "title": one.one.title,
        "gpus_per_copy": one.one.gpus,
        "copies": one.copies,
        "sustained": msgspec.structs.asdict(one.rate),
        "sustained_by_all_copies": one.rate.value * one.copies,
        "sustained_per_gpu": one.per_gpu,
        "limit": broken(after, slos) if after else [],
        "at": _trial(one.found.closest, slos),
        "need": need
        and {
            "copies": need.copies,
            "spare_copies": need.spare,
            "gpus": need.gpus,
            "racks": need.racks,
            "fits": need.fits,
            "at": _trial(need.trial, slos),
        },
        "curve": [_trial(each, slos) for each in one.found.curve],
        "simulated_copies": one.together,
        "simulated_requests": one.requests,
        "router": one.router,
    }


def _trial(one: Trial, slos: tuple[Slo, ...]) -> dict[str, Any]:
    """A trial, and whether every objective is kept in it."""
    return {**plain(one), "good_requests_per_s": one.good, "holds": holds(one, slos)}
