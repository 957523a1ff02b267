"""report.html of a simulation: one self-contained page, no script, charts as SVG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from markupsafe import Markup

from racktwin import __version__
from racktwin.dashboard.curves import curves
from racktwin.dashboard.page import page
from racktwin.planning.changes import changes
from racktwin.planning.class_row import class_cells, class_name
from racktwin.planning.replay import Replay
from racktwin.serving.outcome import Tier
from racktwin.serving.sample import CLASSES, FINE, LEAST

COLUMNS = ("mean", "± 95 %", "p50", "p90", "p95", "p99")
NAMES = {
    "ttft": "TTFT, s",
    "tpot": "TPOT, s",
    "itl": "ITL, s",
    "e2e": "E2E, s",
    "queue": "queue, s",
    "ttst": "TTST, s",
}
POINTS = 120  # of a distribution


def run_report(found: Replay, answer: dict[str, Any]) -> str:
    """The page as text. answer: the run as plain data."""
    return page("run.html").render(**content(found, answer), version=__version__)


def run_body(found: Replay, answer: dict[str, Any]) -> Markup:
    """What the page says, without its frame."""
    template = page("run.html")
    context = template.new_context(content(found, answer))
    return Markup("".join(template.blocks["content"](context)))


def content(found: Replay, answer: dict[str, Any]) -> dict[str, Any]:
    """What the template fills in."""
    outcome, deployment = found.outcome, found.deployment
    return _words(
        model=deployment.model.title,
        cluster=f"{outcome.gpus:,} GPUs of {deployment.cluster.title}",
        question=f"{deployment.title}; {deployment.engine.name}; {found.asked}; "
        f"{found.routing}; metrics as {found.order.definition.name} defines them.",
        overloaded=outcome.overloaded,
        growth=f"{outcome.growth:,.4g}",
        short=outcome.short,
        unserved=outcome.unserved and f"{outcome.unserved:,}",
        changes=[f"{role}: {line}" for role in outcome.pools for line in changes(found, role)],
        headline=list(_headline(found)),
        columns=COLUMNS,
        latencies=[_row(NAMES[name], answer[name]) for name in NAMES],
        classes=[(class_name(e), list(class_cells(e)), e.limits.text) for e in outcome.classes],
        lines=[Markup(each) for each in _time_lines(answer["timeline"])],
        felt=Markup(_felt(found)),
        spreads=[Markup(each) for each in _distributions(found)],
        pools=answer["pools"],
        notes=found.notes,
        tiers=list(_tiers(found)),
        evidence=[
            ("TTFT", found.mean_ttft.evidence),
            ("TPOT", found.mean_tpot.evidence),
            *(found.run.tiers.evidence if found.run.tiers else ()),
        ],
    )


def _words(**given: Any) -> dict[str, Any]:
    return given


def _headline(found: Replay) -> Iterator[tuple[str, str, str]]:
    outcome = found.outcome
    yield f"{outcome.requests:,.1f}", "requests/s", f"{outcome.inside:,.0f} in flight"
    per_gpu = f"{outcome.output / (outcome.powered or 1.0):,.0f} per GPU"
    yield f"{outcome.output:,.0f}", "output tokens/s", per_gpu
    yield f"{outcome.ttft.p99:,.2f} s", "TTFT p99", f"mean {outcome.ttft.mean:,.2f} s"
    slow, mean = outcome.tpot.p99 * 1e3, outcome.tpot.mean * 1e3
    yield f"{slow:,.1f} ms", "TPOT p99", f"mean {mean:,.1f} ms"
    yield (
        f"{found.watts * outcome.powered / 1e3:,.0f} kW",
        "IT power",
        f"{found.watts:,.0f} W per GPU",
    )


def _tiers(found: Replay) -> Iterator[tuple[str, str, Tier]]:
    """The tiers below the prefix caches: name, size, use."""
    asked, tiers = found.deployment.offload, found.run.tiers
    if tiers is not None and tiers.host:
        yield "host memory", f"{asked.host} per GPU", found.outcome.host
    if tiers is not None and tiers.shared:
        yield "shared pool", str(asked.shared), found.outcome.shared


def _row(name: str, spread: dict[str, float | None]) -> tuple[str, list[str]]:
    keys = ("mean", "error", "p50", "p90", "p95", "p99")
    values = [spread[key] for key in keys]
    return name, ["-" if value is None else f"{value:,.4g}" for value in values]


def _time_lines(timeline: dict[str, list[Any]]) -> Iterator[str]:
    edges = timeline["edge_s"]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    across = "simulated time, s"
    rows = {"finished": timeline["finished_per_s"]}
    yield curves(middles, rows, across=across, up="requests/s")
    rows = {"input": timeline["input_tokens_per_s"], "output": timeline["output_tokens_per_s"]}
    yield curves(middles, rows, across=across, up="tokens/s")
    rows = {"in flight": timeline["in_flight"], "waiting": timeline["waiting"]}
    yield curves(edges, rows, across=across, up="requests")
    rows = {role: timeline["replicas_up"][role] for role in timeline["replicas_up"]}
    if any(min(each) < max(each) for each in rows.values()):
        yield curves(edges, rows, across=across, up="replicas that take requests")
    rows = {level: list(_milliseconds(timeline[f"itl_{level}"])) for level in ("p50", "p99")}
    yield curves(middles, rows, across=across, up="time between tokens, ms")
    rows = {"decoding": timeline["decoding"]}
    yield curves(middles, rows, across=across, up="decoding sequences")
    kilowatts = {"working": [each / 1e3 for each in timeline["working_watts"]]}
    yield curves(middles, kilowatts, across=across, up="power of GPUs in a step, kW")


def _milliseconds(seconds: Iterable[float | None]) -> Iterator[float]:
    """Times, s, as ms; NaN where there is none."""
    for each in seconds:
        yield math.nan if each is None else each * 1e3


def _felt(found: Replay) -> str:
    """TTFT by time of arrival."""
    sample = found.run.sample
    used = sample.batches
    rows = {
        name: list(sample.batch_points("ttft", level)[:used])
        for name, level in (("p50", 0.5), ("p99", 0.99))
    }
    xs = [float(each) for each in sample.first[:used]]
    return curves(xs, rows, across="arrival, s", up="TTFT, s")


def _distributions(found: Replay) -> Iterator[str]:
    """Share of requests below a latency."""
    sample, batches = found.run.sample, found.outcome.span.batches
    edges = LEAST * np.exp((np.arange(CLASSES) + 1) / FINE)
    for index, name in enumerate(sample.figures):
        classes = sample.classes[index, batches].sum(0)
        if not classes.any():
            continue
        share = np.cumsum(classes) / classes.sum()
        last = int(np.searchsorted(share, 0.999)) + 1
        xs = np.linspace(0.0, float(edges[min(last, CLASSES - 1)]), POINTS)
        below = np.interp(xs, edges, share)
        row = {name: [float(each) * 100 for each in below]}
        yield curves(list(map(float, xs)), row, across=NAMES[name], up="% of requests at most")
