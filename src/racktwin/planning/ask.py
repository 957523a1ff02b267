"""What a planner asks: a model on a cluster under a traffic, within limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from racktwin.engine.deployment import Speculation
from racktwin.engine.epoch import Epoch
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.models import Model, Precision
from racktwin.planning.demand import Demand
from racktwin.planning.objective import OBJECTIVES
from racktwin.serving.traffic import Traffic

MODES = ("any", "aggregated", "disaggregated")
MOST_TOKENS = 100_000_000


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One planning question.

    gpus: budget, GPUs; ttft, tpot: highest mean, s, None for no limit; price: $/GPU/h.
    fraction: share of memory the engine may use, None for its default.
    spare: whole copies kept idle for failures (1 is N+1); top: deployments to return.
    demand: requests with the means of `traffic`; of fixed lengths where there is none.
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
    demand: Demand | None = None


def check(ask: Ask) -> list[Finding]:
    """Everything in the question that cannot be answered as asked."""
    names = ("traffic", "ttft", "tpot", "objective", "mode", "speculation", "fraction", "top")
    found = [*check_terms(**{name: getattr(ask, name) for name in names})]
    found += [*_range("--gpus", ask.gpus, 1, ask.cluster.gpus)]
    found += [*_range("--spare", ask.spare, 0, ask.cluster.gpus)]
    if not (math.isfinite(ask.price) and ask.price >= 0):
        found.append(Finding("--price", f"expected $/GPU/h of 0 or more, found {ask.price:g}"))
    architecture = ask.model.architecture
    found += check_context(ask.traffic, ask.model)
    if ask.traffic.images and architecture.vision is None:
        text = f"its requests have images; {ask.model.title} has no image encoder"
        found.append(Finding("--workload", text))
    if ask.speculation.tokens and not architecture.mtp:
        message = f"{ask.model.title} has no multi-token-prediction layers"
        found.append(Finding("--mtp", message))
    return found


def check_terms(
    *,
    traffic: Traffic,
    ttft: float | None,
    tpot: float | None,
    objective: str,
    mode: str,
    speculation: Speculation,
    fraction: float | None,
    top: int,
) -> Iterator[Finding]:
    """What is wrong with the question whatever the model and the machine; fields as in `Ask`.

    fraction: of the memory, 0..1.
    """
    yield from check_traffic(traffic)
    yield from _range("--top", top, 1, 1000)
    for key, limit in (("--ttft", ttft), ("--tpot", tpot)):
        if limit is not None and not (math.isfinite(limit) and limit > 0):
            yield Finding(key, f"expected a time above 0, found {limit:g} s")
    if fraction is not None and not 0 < fraction <= 1:
        yield Finding("--memory-fraction", f"expected above 0 to 1, found {fraction:g}")
    chances, drafts = speculation.chances, speculation.tokens
    if not 0 <= drafts <= 16 or len(chances) != drafts or not all(0 <= a <= 1 for a in chances):
        yield Finding("--mtp", "expected 0 to 16 drafts with an acceptance of 0 to 1, or one each")
    if objective not in OBJECTIVES:
        yield unknown("--objective", objective, OBJECTIVES)
    if mode not in MODES:
        yield unknown("--mode", mode, MODES)


def check_traffic(traffic: Traffic) -> Iterator[Finding]:
    """What is wrong with the lengths of requests for any model."""
    yield from _range("--input", traffic.input, 1, MOST_TOKENS)
    yield from _range("--output", traffic.output, 2, MOST_TOKENS)  # the prefill makes the first
    if not 0 <= traffic.prefix_hit < 1:
        yield Finding("--prefix-hit", f"expected 0 to below 1, found {traffic.prefix_hit:g}")


def check_context(traffic: Traffic, model: Model) -> Iterator[Finding]:
    """Requests too long for the model."""
    most = model.architecture.context
    if most < traffic.input + traffic.output <= MOST_TOKENS:
        message = (
            f"{traffic.input:,.0f} in + {traffic.output:,.0f} out is more than the "
            f"{most:,} tokens {model.title} is made for"
        )
        yield Finding("--input", message)


def _range(key: str, value: float, least: int, most: int) -> Iterator[Finding]:
    if not (math.isfinite(value) and least <= value <= most):
        yield Finding(key, f"expected {least:,} to {most:,}, found {value:,g}")


def checked(ask: Ask) -> Ask:
    """The question itself, or BadInput with everything wrong in it."""
    found = check(ask)
    if found:
        raise BadInput(found, "plan")
    return ask
