"""A workload on one screen: how its requests come, their lengths, how well they repeat a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType

from racktwin.cli.console import table
from racktwin.serving.generated import Generated
from racktwin.serving.mix import Mix, load
from racktwin.serving.trace import Trace

SHOWN = 5_000  # requests drawn to show what they are like
POINTS = {"mean": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99}
ERRORS = ("ks", *POINTS)
LINES = {"input": "input tokens", "output": "output tokens"}
PAIRS = {"gap_cv": ("CV of the gaps", ".2f"), "prefix_hit": ("prefix hits", ".0%")}


def workload_card(name: str) -> tuple[dict[str, Any], list[RenderableType]]:
    """The JSON answer and the screen for a workload of the catalog or of a file."""
    found = load(name)
    drawn = found.trace(SHOWN)
    told = _told(found, drawn)
    answer = {"kind": "workload", "name": found.name, "title": found.title, "workload": told}
    screen = [_about(found, told), "", _lengths(told["tokens"])]
    if found.fit:
        screen += ["", _goodness(found.fit), *_pairs(found.fit)]
    return answer, screen


def _told(found: Generated, drawn: Trace) -> dict[str, Any]:
    law = found.arrivals
    return {
        "source_kind": found.kind,
        "source": found.source,
        "date": found.date,
        "note": found.note,
        "requests": found.requests,
        "law": law.law,
        "rate": float(law.rate),
        "cv": law.cv,
        "concurrency": law.concurrency,
        "profile_bins": len(law.profile),
        "session_requests": found.turns,
        "tokens": {name: _spread(getattr(drawn, name)) for name in LINES},
        "image_tokens": float(drawn.encoder.mean()),
        "prefix_hit": drawn.traffic().prefix_hit,
        "fit": found.fit,
    }


def _spread(tokens: np.ndarray[Any, Any]) -> dict[str, float]:
    points = {name: float(np.quantile(tokens, level)) for name, level in POINTS.items() if level}
    return {"mean": float(tokens.mean()), **points}


def _about(found: Generated, told: dict[str, Any]) -> RenderableType:
    made = table("", "")
    made.show_header = False
    if isinstance(found, Mix):
        made.add_row("arrivals", f"{found.arrivals.rate:,.3g}/s of {len(found.streams)} classes")
        for name, text in _classes(found):
            made.add_row(name, text)
    else:
        made.add_row("arrivals", arrivals(found))
    made.add_row("by default", f"{found.requests:,} requests")
    if told["session_requests"] > 1:
        made.add_row("sessions", f"{told['session_requests']:.2f} requests each on average")
    if told["prefix_hit"]:
        hits = f"{told['prefix_hit']:.0%} of the input of {SHOWN:,} requests begins as before"
        made.add_row("prefixes", hits)
    if told["image_tokens"]:
        made.add_row("images", f"{told['image_tokens']:,.0f} tokens of the input on average")
    origin = ": ".join(filter(None, (found.kind, found.source)))
    made.add_row("source", ", ".join(filter(None, (origin, found.date))))
    if found.note:
        made.add_row("note", found.note)
    return made


def _classes(found: Mix) -> Iterator[tuple[str, str]]:
    """Each class: its name, how it comes, and what it is promised."""
    for each in found.streams:
        known = each.slo_class
        within = f", within {known.limits.text}" if known.limits.text else ""
        yield known.name, f"{arrivals(found.at_share(each))}, priority {known.priority}{within}"


def arrivals(found: Generated) -> str:
    """How its requests come, in words."""
    law = found.arrivals
    if law.law == "closed":
        return f"closed loop, {law.concurrency:,} in flight"
    if law.law == "offline":
        return "all at once"
    cv = f" of CV {law.cv:g}" if law.law == "gamma" else ""
    bins = f", {len(law.profile):,} x {law.step}" if law.profile else ""
    return f"{law.law}{cv} at {law.rate:,.3g}/s{bins}"


def _lengths(tokens: dict[str, dict[str, float]]) -> RenderableType:
    made = table("", *POINTS, title="drawn", right=tuple(POINTS))
    for name, title in LINES.items():
        made.add_row(title, *(f"{tokens[name][point]:,.0f}" for point in POINTS))
    return made


def _goodness(fit: dict[str, float]) -> RenderableType:
    """Errors of generated traces as long as the sample."""
    columns = ("KS", *POINTS)
    made = table("", *columns, title="against its sample", right=columns)
    for name, title in LINES.items():
        cells = []
        for point in ERRORS:
            value = fit.get(f"{name}_{point}")
            shown = "-" if value is None else f"{value:.3f}" if point == "ks" else f"{value:+.1%}"
            cells.append(shown)
        made.add_row(title, *cells)
    return made


def _pairs(fit: dict[str, float]) -> Iterator[str]:
    for key, (title, form) in PAIRS.items():
        if key in fit:
            sample = fit[f"{key}_sample"]
            yield f"{title}: {fit[key]:{form}} generated, {sample:{form}} in the sample"
