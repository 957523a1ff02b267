"""report.html of an answer on capacity: one self-contained page, no script, charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.curves import curves
from racktwin.dashboard.page import page
from racktwin.planning.capacity import Capacity, Sustained
from racktwin.planning.capacity_words import (
    SCALES,
    interval,
    levels,
    levels_of_curve,
    need,
    objectives,
    traffic,
)
from racktwin.planning.saturation import broken, holds
from racktwin.planning.slo import GOODPUT
from racktwin.planning.trial import Trial


def capacity_report(found: Capacity) -> str:
    """The page as text."""
    best = found.best
    one = best.one
    return page("capacity.html").render(
        model=one.model.title,
        cluster=f"{found.gpus:,} GPUs of {one.cluster.title}",
        question=f"{one.precision.name.upper()} weights, {one.precision.kv.upper()} KV, "
        f"{one.engine.name}; {traffic(found)}; {objectives(found)}.",
        met=bool(best.rate.value),
        headline=list(_headline(best)),
        heads=[each.head for each in levels(found)],
        ranking=[_row(found, each) for each in found.answers],
        needs=[
            (need(found, rank, each.need), each.need.fits)
            for rank, each in enumerate(found.answers, 1)
            if each.need is not None
        ],
        stop=_stop(found),
        charts=[Markup(each) for each in _charts(found)],
        columns=[each.head for each in levels_of_curve(found)],
        curve=[_trial(found, each) for each in best.found.curve],
        simulated=f"{best.requests:,} requests on {_copies(best.together)} behind a "
        f"{best.router} router; every load has the same requests, closer together or farther apart",
        evidence=best.rate.evidence,
        notes=found.notes,
        version=__version__,
    )


def _copies(count: int) -> str:
    return f"{count:,} {'copy' if count == 1 else 'copies'}"


def _headline(best: Sustained) -> Iterator[tuple[str, str, str]]:
    rate = best.rate
    copies = best.copies
    yield f"{rate.value * copies:,.4g}", "requests/s sustained", _copies(copies)
    sure = f", {interval(rate)}" if rate.value else ""
    yield f"{rate.value:,.4g}", "requests/s of a copy", f"{best.one.gpus:,} GPUs{sure}"
    yield f"{best.per_gpu:,.3g}", "requests/s of a GPU", ""
    if best.need:
        yield f"{best.need.gpus:,}", "GPUs for the rate asked", f"{best.need.racks:,} racks"


def _row(found: Capacity, each: Sustained) -> dict[str, Any]:
    at = each.found.closest
    cells = [
        f"{each.one.gpus:,}",
        f"{each.rate.value:,.4g}" if each.rate.value else "none",
        f"{each.per_gpu:,.3g}",
        *(level.cell(at) for level in levels(found)),
        f"{at.good:,.4g}",
        f"{each.copies:,}",
        f"{each.rate.value * each.copies:,.4g}",
    ]
    return {"title": each.one.title, "cells": cells}


def _stop(found: Capacity) -> str:
    best, after = found.best, found.best.found.next
    if after is None:
        return ""
    what = "stops there" if best.rate.value else "fails at the smallest load tried"
    said = ", ".join(broken(after, found.task.slos))
    return f"The first {what}: at {after.rate:,.4g} requests/s of a copy {said}."


def _trial(found: Capacity, trial: Trial) -> dict[str, Any]:
    kept = holds(trial, found.task.slos)
    cells = [f"{trial.rate:,.4g}", *(level.cell(trial) for level in levels_of_curve(found))]
    cells += [f"{trial.good:,.4g}", f"{trial.attained:.1%}"]
    return {"cells": cells, "broken": "" if kept else ", ".join(broken(trial, found.task.slos))}


def _charts(found: Capacity) -> Iterator[str]:
    """Latencies and goodput over the load; a load whose queue has no end is left out."""
    best = found.best
    tried = [each for each in best.found.curve if not each.overloaded]
    rates = [each.rate for each in tried]
    at = best.rate.value or None
    for shown in levels(found):
        scale, unit, _ = SCALES[shown.figure]
        rows = {
            level: [getattr(getattr(each, shown.figure), level) * scale for each in tried]
            for level in dict.fromkeys(("p50", shown.level))
        }
        limit = _limit(found, shown.figure, shown.level)
        up = f"{shown.figure.upper()}, {unit}"
        yield _chart(rates, rows, up, at, None if limit is None else limit * scale)
    share = _limit(found, GOODPUT, "share")
    served = {"served": [each.served for each in tried], "good": [each.good for each in tried]}
    yield _chart(rates, served, "requests/s", at, None)
    good = [100 * each.attained for each in tried]
    yield _chart(rates, {"good": good}, "% within limits", at, share and share * 100)


def _limit(found: Capacity, figure: str, level: str) -> float | None:
    given = (each for each in found.task.slos if (each.figure, each.level) == (figure, level))
    return next((each.limit for each in given), None)


def _chart(
    xs: Sequence[float],
    rows: dict[str, list[float]],
    up: str,
    at: float | None,
    limit: float | None,
) -> str:
    across = "load, requests/s of a copy"
    return curves(xs, rows, across=across, up=up, at=at, limit=limit)
