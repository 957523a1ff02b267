"""report.html of several deployments simulated on one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.curves import curves
from racktwin.dashboard.page import page
from racktwin.dashboard.run_report import run_body
from racktwin.planning.neighbours import Neighbours

POINTS = 160  # of a curve
COLUMNS = ("GPUs", "busy", "requests/s", "good/s", "out tok/s", "TTFT p99, s", "TPOT p99, ms", "kW")


def neighbours_report(found: Neighbours, answer: dict[str, Any]) -> str:
    """The page as text. answer: the runs as plain data."""
    cluster = found.cluster
    runs = [
        {
            "name": name,
            "title": f"{one.deployment.model.title}: {one.deployment.title}, {one.asked}",
            "body": run_body(one, plain),
        }
        for name, one, plain in zip(found.names, found.replays, answer["deployments"], strict=True)
    ]
    return page("neighbours.html").render(
        model=f"{len(runs)} deployments",
        cluster=f"{found.gpus:,} of the {cluster.gpus:,} GPUs of {cluster.title}",
        question="; ".join(f"{run['name']}: {run['title']}" for run in runs) + ".",
        headline=list(_headline(found)),
        columns=COLUMNS,
        rows=list(_rows(found)),
        lines=[Markup(each) for each in _lines(found, answer)],
        runs=runs,
        notes=answer["notes"],
        version=__version__,
    )


def _headline(found: Neighbours) -> Iterator[tuple[str, str, str]]:
    good = f"{found.total('good'):,.1f} within limits"
    yield f"{found.total('requests'):,.1f}", "requests/s", good
    output = found.total("output")
    yield f"{output:,.0f}", "output tokens/s", f"{output / found.gpus:,.0f} per GPU in use"
    share = f"{found.gpus / found.cluster.gpus:.0%} of the cluster"
    yield f"{found.gpus:,}", "GPUs", share
    idle = f"and {found.idle_watts / 1e3:,.1f} kW of idle GPUs"
    yield f"{found.watts / 1e3:,.1f} kW", "IT power", idle


def _rows(found: Neighbours) -> Iterator[tuple[str, list[str]]]:
    for name, each in zip(found.names, found.replays, strict=True):
        outcome = each.outcome
        busy = sum(use.busy * use.gpus for use in outcome.pools.values()) / outcome.gpus
        yield (
            name,
            [
                f"{outcome.gpus:,}",
                f"{busy:.0%}",
                f"{outcome.requests:,.2f}",
                f"{outcome.good:,.2f}",
                f"{outcome.output:,.0f}",
                f"{outcome.ttft.p99:,.3f}",
                f"{outcome.tpot.p99 * 1e3:,.2f}",
                f"{each.watts * outcome.gpus / 1e3:,.1f}",
            ],
        )


def _lines(found: Neighbours, answer: dict[str, Any]) -> Iterator[str]:
    """Tokens and power of each over the time that all of them take."""
    parts = [each["timeline"] for each in answer["deployments"]]
    longest = max(each["edge_s"][-1] for each in parts)
    xs = np.linspace(0.0, longest, POINTS)
    for key, scale, up in (
        ("output_tokens_per_s", 1.0, "output tokens/s"),
        ("working_watts", 1e-3, "power of GPUs in a step, kW"),
    ):
        rows = {
            name: _on(xs, part["edge_s"], part[key], scale)
            for name, part in zip(found.names, parts, strict=True)
        }
        yield curves(list(map(float, xs)), rows, across="simulated time, s", up=up)


def _on(xs: np.ndarray, edges: list[float], values: list[float], scale: float) -> list[float]:
    """Means of bins at other times (s); NaN behind the last."""
    middles = (np.array(edges[1:]) + np.array(edges[:-1])) / 2
    found = np.interp(xs, middles, np.array(values) * scale, right=np.nan)
    return [float(each) for each in found]
