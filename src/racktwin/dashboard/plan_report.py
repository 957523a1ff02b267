"""report.html of a plan: one self-contained page, no script, charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard import seats
from racktwin.dashboard.bars import stacked
from racktwin.dashboard.page import page
from racktwin.dashboard.scatter import Point, scatter
from racktwin.estimate import Estimate
from racktwin.planning.choice import Choice
from racktwin.planning.plan import SHARE, FrontPoint, Plan
from racktwin.units import Seconds

COLUMNS = ("GPUs", "out tok/s/GPU", "total tok/s/GPU", "TPOT ms", "TTFT s", "rack kW", "$/Mtok out")
SERIES = ("aggregated", "disaggregated", "the choice")


def plan_report(plan: Plan) -> str:
    """The page as text."""
    best, ask = plan.best, plan.ask
    return page("plan.html").render(
        model=ask.model.title,
        cluster=ask.cluster.title + (f", {ask.cluster.source}" if ask.cluster.source else ""),
        question=_question(plan),
        met=bool(plan.choices),
        headline=list(_headline(best)),
        reason=f"What stops it there: {best.limit}.",
        searched=f"{plan.candidates:,} deployments were priced, {plan.meeting:,} meet the limits.",
        front=Markup(_front(plan)),
        power_front=Markup(_power_front(plan)),
        columns=COLUMNS,
        ranking=[_row(each) for each in plan.shown],
        trials=list(_trials(plan)),
        share=f"{SHARE:.0%}",
        missed=_missed(plan),
        seating=_seating(plan),
        seats=Markup(seats.drawing(best.deployment)),
        time=Markup(_time(best)),
        memory=Markup(_memory(best)),
        evidence=list(_evidence(plan)),
        version=__version__,
    )


def _question(plan: Plan) -> str:
    ask = plan.ask
    limits = {"TTFT": ask.ttft, "TPOT": ask.tpot}
    said = [f"{name} at most {Seconds(limit)}" for name, limit in limits.items() if limit]
    return (
        f"{ask.precision.name.upper()} weights, {ask.precision.kv.upper()} KV, {ask.epoch.name}; "
        f"{ask.traffic.input:,.0f} tokens in, {ask.traffic.output:,.0f} out; "
        f"{', '.join(said) or 'no latency limits'}; {ask.gpus:,} GPUs; ranked by {ask.objective}."
    )


def _sure(estimate: Estimate, scale: float = 1.0) -> str:
    return f"{estimate.low * scale:,.3g} to {estimate.high * scale:,.3g}"


def _headline(best: Choice) -> Iterator[tuple[str, str, str]]:
    rate, tpot, ttft = best.output_rate, best.tpot, best.ttft
    yield f"{rate.value:,.0f}", "output tokens/s/GPU", _sure(rate)
    yield f"{tpot.value * 1e3:,.1f} ms", "per output token", _sure(tpot, 1e3)
    yield f"{ttft.value:,.2f} s", "to first token", _sure(ttft)
    yield f"${best.cost.value:,.2f}", "per million output tokens", _sure(best.cost)
    load = f"requests in flight: {best.concurrency * best.busy_copies:,.0f}"
    copies = f"{_copies(best.busy_copies)} of {best.deployment.gpus:,} GPUs; {load}"
    whole = best.cluster_rate
    shown = f"{whole / 1e6:,.2f} M" if whole >= 1e6 else f"{whole:,.0f}"
    yield shown, "output tokens/s in all", copies


def _copies(count: int) -> str:
    return f"{count:,} {'copy' if count == 1 else 'copies'}"


def _front(plan: Plan) -> str:
    best = plan.best
    points = [_point(each, each.per_gpu, "tok/s/GPU") for each in plan.front]
    chosen = Point(best.per_user.value, best.output_rate.value, 2, best.deployment.title, 7)
    return _against_speed(plan, [*points, chosen], "output tokens/s/GPU")


def _power_front(plan: Plan) -> str:
    best = plan.best
    points = [_point(each, each.per_mw, "tok/s/MW") for each in plan.power_front]
    per_mw = 1e6 * best.output_rate.value * plan.ask.cluster.gpus_per_rack / best.rack_power
    chosen = Point(best.per_user.value, per_mw, 2, best.deployment.title, 7)
    return _against_speed(plan, [*points, chosen], "output tokens/s per MW of IT")


def _point(point: FrontPoint, figure: float, unit: str) -> Point:
    return Point(
        point.per_user,
        figure,
        SERIES.index(point.mode),
        f"{figure:,.0f} {unit} at {point.per_user:,.0f} tok/s/user, "
        f"{point.gpus:,} GPUs {point.mode}, TTFT {point.ttft:.2f} s",
    )


def _against_speed(plan: Plan, points: list[Point], up: str) -> str:
    return scatter(
        points,
        across="tokens/s of one user",
        up=up,
        series=SERIES,
        limit=1 / plan.ask.tpot if plan.ask.tpot else None,
        limit_label="TPOT limit",
    )


def _row(choice: Choice) -> dict[str, Any]:
    cells = [
        (f"{choice.deployment.gpus:,}", ""),
        (f"{choice.output_rate.value:,.0f}", _sure(choice.output_rate)),
        (f"{choice.total_rate.value:,.0f}", ""),
        (f"{choice.tpot.value * 1e3:.1f}", _sure(choice.tpot, 1e3)),
        (f"{choice.ttft.value:.2f}", _sure(choice.ttft)),
        (f"{choice.rack_power / 1e3:.0f}", ""),
        (f"{choice.cost.value:.2f}", ""),
    ]
    return {"title": choice.deployment.title, "cells": cells}


def _trials(plan: Plan) -> Iterator[tuple[int, str, list[str]]]:
    """Rank, load and latency of each simulated finalist, and its cells."""
    for rank, trial in enumerate(plan.trials, 1):
        for name, steady, spread, scale, form in (
            ("TTFT s", trial.steady_ttft, trial.ttft, 1.0, ",.2f"),
            ("TPOT ms", trial.steady_tpot, trial.tpot, 1e3, ",.1f"),
        ):
            figures = (steady, spread.mean, spread.p50, spread.p90, spread.p99)
            cells = [f"{figure * scale:{form}}" for figure in figures]
            yield rank, f"{trial.rate:,.3g} requests/s, {name}", cells


def _missed(plan: Plan) -> list[str]:
    """What the simulation says against the ranking."""
    if not plan.trials:
        return []
    from racktwin.planning.confirmation import misses, remarks

    return [*misses(plan), *remarks(plan)]


def _seating(plan: Plan) -> str:
    best, cluster = plan.best, plan.ask.cluster
    drawn = " The first are drawn, every second one paler." if best.deployment.copies > 1 else ""
    return (
        f"A copy has {best.deployment.gpus:,} GPUs; {plan.ask.gpus:,} hold "
        f"{_copies(best.deployment.copies)}.{drawn} A box is a GPU, a column a host of "
        f"{cluster.gpus_per_host}, a block an NVLink domain of {cluster.gpus_per_domain}."
    )


def _time(best: Choice) -> str:
    parts = sorted(best.parts.items(), key=lambda part: -part[1])
    return stacked({"decode step": {name: seconds * 1e3 for name, seconds in parts}}, "ms", ",.2f")


def _memory(best: Choice) -> str:
    rows = {
        role: {
            "weights": fit.weights / 1e9,
            "activations": fit.activations / 1e9,
            "communication": fit.communication / 1e9,
            "reserved": fit.reserved / 1e9,
            "KV cache": max(0.0, fit.kv_room) / 1e9,
            "left to others": max(0.0, _unused(fit)) / 1e9,
        }
        for role, fit in best.memory.items()
    }
    return stacked(rows, "GB", ",.1f")


def _unused(fit: Any) -> float:
    used = fit.weights + fit.activations + fit.communication + fit.reserved + max(0.0, fit.kv_room)
    return float(fit.visible - used)


def _evidence(plan: Plan) -> Iterator[tuple[str, str]]:
    best, ask = plan.best, plan.ask
    yield "TPOT", best.tpot.evidence
    yield "TTFT", best.ttft.evidence
    yield "throughput, cost", best.output_rate.evidence
    yield "power", best.watts.evidence
    yield "price", f"${ask.price:.2f}/GPU/h ({ask.price_note})"
    yield "architecture", ask.model.source
    for part, known in best.evidence.items():
        yield part, "; ".join(str(each) for each in known)
