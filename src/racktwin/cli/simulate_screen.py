"""The screen of `racktwin simulate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.planning.changes import changes, cost
from racktwin.planning.class_row import class_cells, class_name
from racktwin.planning.replay import Replay
from racktwin.serving.outcome import Outcome, Use
from racktwin.serving.sample import Spread
from racktwin.units import Bandwidth, Seconds

COLUMNS = ("mean", "±95 %", "p50", "p90", "p95", "p99")


def screen(found: Replay, written: Sequence[str]) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    deployment, outcome = found.deployment, found.outcome
    yield Text.assemble((deployment.model.title, "bold"), f"  {deployment.title}")
    copies = f"{deployment.copies:,} x " if deployment.copies > 1 else ""
    yield (
        f"on {copies}{deployment.gpus:,} GPUs of {deployment.cluster.name}, "
        f"{deployment.engine.name}, {deployment.precision.name.upper()} weights, "
        f"{deployment.precision.kv.upper()} KV"
    )
    yield f"{found.asked}, {found.routing}"
    yield from (Text(line, "bold yellow") for line in warnings(outcome))
    yield ""
    yield _latencies(found)
    yield ""
    if outcome.classes:
        yield _classes(found)
        limited = [each for each in outcome.classes if each.limits.text]
        if limited:
            listed = (f"{class_name(each)}: {each.limits.text}" for each in limited)
            yield f"limits    {'; '.join(listed)}"
        yield ""
    yield from _rates(found)
    yield ""
    yield f"counted:  {_counted(outcome)}"
    yield f"evidence: TPOT mean {found.mean_tpot.evidence}"
    yield f"          TTFT mean {found.mean_ttft.evidence}"
    for name, text in found.run.tiers.evidence if found.run.tiers else ():
        yield f"          {name}: {text}"
    for note in found.notes:
        yield f"note:     {note}"
    yield f"simulated {Seconds(outcome.seconds)} in {outcome.cpu:.1f} s of CPU"
    if written:
        yield f"wrote {', '.join(written)}"


def warnings(outcome: Outcome) -> Iterator[str]:
    """What the figures do not show, a sentence each."""
    open_requests = outcome.arrived - outcome.finished
    if outcome.overloaded:
        left = f"{open_requests:,} requests are unfinished"
        yield (
            f"more than it can carry: the queue grows by {outcome.growth:,.4g} requests/s without "
            f"bound; {left if open_requests else 'it was empty only after the last had come'}"
        )
    elif outcome.unserved:
        yield f"{outcome.unserved:,} requests were never served: no replica is left to take them"
    elif outcome.stopped:
        yield f"interrupted: {open_requests:,} requests are unfinished"
    elif outcome.short:
        more = "let more requests come (--requests, --duration)"
        if outcome.warm_up and outcome.span.short:
            more = f"sessions go on for {Seconds(outcome.warm_up)}; {more}"
        yield f"too short for a steady state: {more}"


def _latencies(found: Replay) -> RenderableType:
    outcome = found.outcome
    made = table("", *COLUMNS, "", right=COLUMNS)
    rows: tuple[tuple[str, Spread, float, str], ...] = (
        ("TTFT", outcome.ttft, 1.0, "s"),
        ("TPOT", outcome.tpot, 1e3, "ms"),
        ("ITL", outcome.itl, 1e3, "ms"),
        ("E2E", outcome.e2e, 1.0, "s"),
        ("queue", outcome.queue, 1.0, "s"),
    )
    if found.order.definition.name == "aiperf":  # the only tool that prints it
        rows += (("TTST", outcome.ttst, 1e3, "ms"),)
    for name, spread, scale, unit in rows:
        # The mean of a queue that grows is none to be sure of.
        sure = math.nan if outcome.overloaded or spread.error > spread.mean else spread.error
        values = (spread.mean, sure, spread.p50, spread.p90, spread.p95, spread.p99)
        form = ",.3f" if unit == "s" else ",.2f"
        cells = [f"{value * scale:{form}}" if math.isfinite(value) else "-" for value in values]
        made.add_row(name, *cells, unit)
    return made


def _rates(found: Replay) -> Iterator[str]:
    outcome = found.outcome
    per_gpu = outcome.output / (outcome.powered or 1.0)
    yield (
        f"requests  {outcome.requests:,.2f}/s served, {outcome.inside:,.0f} in flight"
        f"{_goodput(found)}"
    )
    hits = f", {outcome.hits:.0%} of it cached" if outcome.hits else ""
    below = outcome.host.hits + outcome.shared.hits
    hits += f" ({below:.0%} below the GPUs)" if below else ""
    yield (
        f"tokens    {outcome.output:,.0f}/s out ({per_gpu:,.0f}/s/GPU), "
        f"{outcome.input:,.0f}/s in{hits}"
    )
    for role, use in outcome.pools.items():
        yield f"{role:8}  {_use(role, use)}"
        yield from (f"          {line}" for line in changes(found, role))
    yield from _tiers(found)
    total = found.watts * outcome.powered
    joules = ""
    if outcome.output and outcome.requests:
        joules = f", {total / outcome.output:,.2f} J per output token"
        joules += f", {total / outcome.requests:,.0f} J per request"
    yield f"IT power  {found.watts:,.0f} W per GPU, {total / 1e3:,.1f} kW in all{joules}"
    if outcome.changes:
        yield f"cost      {cost(found)}"


def _tiers(found: Replay) -> Iterator[str]:
    """The tiers below the prefix caches, a line each."""
    tiers, asked = found.run.tiers, found.deployment.offload
    if tiers is None:
        return
    rows = (
        ("host", tiers.host, f"{asked.host} per GPU", found.outcome.host),
        ("shared", tiers.shared, f"{asked.shared}", found.outcome.shared),
    )
    for name, room, size, use in rows:
        if room:
            yield (
                f"{name:8}  {use.hits:.1%} of the input found; {size}, {use.filled:.0%} full, "
                f"{Bandwidth(use.loaded)} read, {Bandwidth(use.written)} written"
            )


def _goodput(found: Replay) -> str:
    outcome = found.outcome
    said = found.order.limits.text
    if any(each.limits.text for each in outcome.classes):
        said = "the limits of their classes"
    if not said:
        return ""
    share = outcome.good / outcome.requests if outcome.requests else 0.0
    return f", {outcome.good:,.2f}/s within {said} ({share:.1%})"


def _classes(found: Replay) -> RenderableType:
    """What each class felt."""
    heads = ("TTFT p50", "p99 s", "TPOT p50", "p99 ms", "E2E p99 s")
    columns = ("served/s", *heads, "good/s", "good")
    made = table("class", *columns, right=columns)
    for each in found.outcome.classes:
        made.add_row(class_name(each), *class_cells(each))
    return made


def _use(role: str, use: Use) -> str:
    lost = f", {use.losses:,.0f} preemptions" if use.losses else ""
    replicas = f"{use.replicas:,} {'replica' if use.replicas == 1 else 'replicas'}"
    busy = f"{replicas} step {use.busy:.0%} of the time"
    if role == "prefill":
        return f"{busy}{lost}"
    held = f"{use.batch:,.1f} of {use.max_batch:,} sequences per rank, {use.kv:.1%} of KV"
    return f"{busy}, {held}{lost}"


def _counted(outcome: Outcome) -> str:
    span, word = outcome.span, "request" if outcome.counted == 1 else "requests"
    if span.whole:
        which = "the only" if outcome.counted == 1 else f"all {outcome.counted:,}"
        return f"{which} {word}, over {Seconds(span.end)}"
    return (
        f"{outcome.counted:,} {word} of {Seconds(span.begin)} to {Seconds(span.end)}; "
        "warm-up and drain are left out"
    )
