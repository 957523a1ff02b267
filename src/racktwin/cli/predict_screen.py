"""The screen of `racktwin predict`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.estimate import Estimate
from racktwin.planning.prediction import Prediction


def screen(found: Prediction) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    deployment, state, traffic = found.deployment, found.state, found.traffic
    yield Text.assemble((deployment.model.title, "bold"), f"  {deployment.title}")
    copies = f"{deployment.copies:,} x " if deployment.copies > 1 else ""
    yield (
        f"on {copies}{deployment.gpus:,} GPUs of {deployment.cluster.name}, "
        f"{deployment.engine.name}, {deployment.precision.name.upper()} weights, "
        f"{deployment.precision.kv.upper()} KV"
    )
    yield f"{traffic.input:,.0f} in / {traffic.output:,.0f} out, {found.wanted}"
    if found.overloaded:
        queue = "without end" if math.isinf(state.queued) else f"for {state.queued:,.1f} s"
        yield Text(f"more than it can carry: requests queue {queue} ({state.limit})", "bold yellow")
    yield ""
    made = table("of one copy", "mean", "80 % interval", "", right=("mean", "80 % interval"))
    rows = (
        ("TTFT", found.ttft, 1.0, ",.2f", "s"),
        ("TPOT", found.tpot, 1e3, ",.2f", "ms"),
        ("output", found.output_rate, 1.0, _form(found.output_rate), "tok/s/GPU"),
        ("input + output", found.total_rate, 1.0, _form(found.total_rate), "tok/s/GPU"),
        ("cost", found.cost, 1.0, ",.2f", "$ per million output tokens"),
    )
    for name, estimate, scale, form, unit in rows:
        made.add_row(name, *_cells(estimate, scale, form), unit)
    if seen := found.benchmark:
        made.add_row("TTFT of a benchmark", *_cells(seen.ttft, 1.0, ",.2f"), "s, from its start on")
        made.add_row("TPOT of a benchmark", *_cells(seen.tpot, 1e3, ",.2f"), "ms")
    made.add_row("requests", f"{state.requests:,.2f}", "", "per s")
    made.add_row("batch", f"{state.batch:,.1f}", "", "decoding sequences per rank")
    made.add_row("prefill work", f"{state.prefill_busy:.0%}", "", "of the time it has")
    made.add_row("IT power", f"{found.watts:,.0f}", "", "W per GPU, rack share included")
    yield made
    yield ""
    step = sum(state.parts.values())
    shares = sorted(state.parts.items(), key=lambda part: -part[1])
    listed = ", ".join(f"{name} {seconds / step:.0%}" for name, seconds in shares)
    gain = deployment.serve.speculation.tokens_per_step if deployment.serve else 0.0
    stalls = state.tpot * gain - step
    waits = f", stalls by prefill {stalls * 1e3:.1f} ms" if stalls > 0.01 * step else ""
    yield f"decode step {step * 1e3:.1f} ms{waits}: {listed}"
    yield f"evidence: TPOT {found.tpot.evidence}"
    yield f"          TTFT {found.ttft.evidence}"
    if seen := found.benchmark:
        yield (
            f"          errors of benchmarks: all clients start at once and send {seen.requests} "
            "requests each, so that the first prompts wait"
        )
    yield f"price:    ${found.price:.2f}/GPU/h ({found.price_note})"
    for note in found.notes:
        yield f"note:     {note}"


def _form(estimate: Estimate) -> str:
    """Whole numbers, where that leaves three digits."""
    return ",.0f" if estimate.value >= 100 else ",.3g"


def _cells(estimate: Estimate, scale: float, form: str) -> tuple[str, str]:
    if not math.isfinite(estimate.value):
        return "no end", ""
    low, high = estimate.low * scale, estimate.high * scale
    return f"{estimate.value * scale:{form}}", f"{low:{form}} to {high:{form}}"
