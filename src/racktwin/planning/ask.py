"""What a planner asks: a model on a cluster under a traffic, within limits."""

from __future__ import annotations

import math

import msgspec

from racktwin.engine.deployment import Speculation
from racktwin.engine.epoch import Epoch
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.models import Model, Precision
from racktwin.planning.objective import OBJECTIVES
from racktwin.serving.traffic import Traffic

MODES = ("any", "aggregated", "disaggregated")
MOST_TOKENS = 100_000_000


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One planning question.

    gpus: budget, GPUs; ttft, tpot: highest mean, s, None for no limit; price: $/GPU/h.
    fraction: share of memory the engine may use, None for its default.
    spare: whole copies kept idle for failures (1 is N+1); top: deployments to return.
    """

    model: Model
    cluster: Cluster
    gpus: int
    traffic: Traffic
    ttft: float | None = None
    tpot: float | None = None
    precision: Precision
    epoch: Epoch
    objective: str = "throughput"
    mode: str = "any"
    speculation: Speculation = Speculation()
    fraction: float | None = None
    price: float
    price_note: str = ""
    spare: int = 0
    top: int = 10


def check(ask: Ask) -> list[Finding]:
    """Everything in the question that cannot be answered as asked."""
    traffic, found = ask.traffic, []

    def whole(key: str, value: float, least: int, most: int) -> None:
        if not (math.isfinite(value) and least <= value <= most):
            message = f"expected {least:,} to {most:,}, found {value:g}"
            found.append(Finding(key, message))

    whole("--input", traffic.input, 1, MOST_TOKENS)
    whole("--output", traffic.output, 2, MOST_TOKENS)  # the first comes from the prefill
    whole("--gpus", ask.gpus, 1, ask.cluster.gpus)
    whole("--spare", ask.spare, 0, ask.cluster.gpus)
    whole("--top", ask.top, 1, 1000)
    context = ask.model.architecture.context
    if not found and traffic.input + traffic.output > context:
        message = (
            f"{traffic.input:,.0f} in + {traffic.output:,.0f} out is more than the "
            f"{context:,} tokens {ask.model.title} is made for"
        )
        found.append(Finding("--input", message))
    if not 0 <= traffic.prefix_hit < 1:
        found.append(
            Finding("--prefix-hit", f"expected 0 to below 1, found {traffic.prefix_hit:g}")
        )
    for key, limit in (("--ttft", ask.ttft), ("--tpot", ask.tpot)):
        if limit is not None and not (math.isfinite(limit) and limit > 0):
            found.append(Finding(key, f"expected a time above 0, found {limit:g} s"))
    if not (math.isfinite(ask.price) and ask.price >= 0):
        found.append(Finding("--price", f"expected $/GPU/h of 0 or more, found {ask.price:g}"))
    if ask.fraction is not None and not 0 < ask.fraction <= 1:
        found.append(Finding("--memory-fraction", f"expected above 0 to 1, found {ask.fraction:g}"))
    if not 0 <= ask.speculation.acceptance <= 1 or not 0 <= ask.speculation.tokens <= 16:
        found.append(Finding("--mtp", "expected 0 to 16 drafts with an acceptance of 0 to 1"))
    if ask.speculation.tokens and not ask.model.architecture.mtp:
        message = f"{ask.model.title} has no multi-token-prediction layers"
        found.append(Finding("--mtp", message))
    if ask.objective not in OBJECTIVES:
        found.append(unknown("--objective", ask.objective, OBJECTIVES))
    if ask.mode not in MODES:
        found.append(unknown("--mode", ask.mode, MODES))
    return found


def checked(ask: Ask) -> Ask:
    """The question itself, or BadInput with everything wrong in it."""
    found = check(ask)
    if found:
        raise BadInput(found, "plan")
    return ask
