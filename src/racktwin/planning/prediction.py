"""The prediction for one deployment file under one load."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.estimate import Estimate
from racktwin.finding import BadInput, Finding
from racktwin.planning.benchmark import Benchmark, benchmark
from racktwin.planning.choice import errors, inverse
from racktwin.planning.objective import idle_watts
from racktwin.serving.steady import Served, SteadyState
from racktwin.serving.traffic import Traffic
from racktwin.units import Fraction, Price, Rate

MOST = 1e9


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A load as typed, over all copies: `concurrency` requests in flight, or arrivals at `rate`."""

    input: float
    output: float
    concurrency: float | None = None
    rate: str | None = None
    prefix_hit: str | None = None
    price: str | None = None


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What a deployment does under a load; figures of one copy, each with its interval.

    wanted: the load in words. price: $/GPU/h. notes: remarks on the file. benchmark: the same load
    from its start on; None for arrivals, or too many clients.
    """

    deployment: Deployment
    traffic: Traffic
    wanted: str
    state: SteadyState
    ttft: Estimate
    tpot: Estimate
    output_rate: Estimate
    total_rate: Estimate
    cost: Estimate
    watts: float
    price: float
    price_note: str
    notes: tuple[Finding, ...]
    benchmark: Benchmark | None = None

    @property
    def overloaded(self) -> bool:
        """Whether requests queue for a place (closed load) or without end (open load)."""
        return self.state.queued > 0


def predicted(path: str | Path, load: Load, engine: str | None = None) -> Prediction:
    """Read the deployment and predict its steady state; BadInput with every finding.

    engine: another one than the file's.
    """
    deployment, notes = read_deployment(path, engine)
    traffic, price = _traffic(load, deployment)
    served = Served(deployment)
    if faults := list(lacking(served, traffic)):
        raise BadInput(faults, str(path))
    if load.concurrency is None:
        rate = float(Rate.parse(load.rate or ""))
        state = served.open(traffic, rate / deployment.copies)
        wanted = _share(rate, "requests/s", deployment.copies)
        return _prediction(deployment, traffic, wanted, state, price, notes)
    each = load.concurrency / deployment.copies
    wanted = _share(load.concurrency, "requests in flight", deployment.copies)
    state = served.closed(traffic, each)
    found = _prediction(deployment, traffic, wanted, state, price, notes)
    return msgspec.structs.replace(found, benchmark=benchmark(served, traffic, each))


def _share(whole: float, unit: str, copies: int) -> str:
    """A load over all copies (any unit), and what one of several gets."""
    text = f"{whole:,.6g} {unit}"
    return text if copies == 1 else f"{text}, {whole / copies:,.4g} per copy"


def lacking(served: Served, traffic: Traffic) -> Iterator[Finding]:
    """Pools that do not load, or have no room for the cache of one request."""
    for role, fit in served.memory.items():
        length = traffic.input + (1 if role == "prefill" else traffic.output)
        if not fit.loads:
            missing = -fit.kv_room / 1e9
            yield Finding(role, f"does not load: {missing:.1f} GB per GPU are missing")
        elif fit.sequences(length) < 1:
            room = f"{fit.kv_room / 1e9:.1f} GB of KV cache hold {fit.longest:,.0f} tokens"
            yield Finding(role, f"{room}; one request of {length:,.0f} tokens does not fit")


def _prediction(
    deployment: Deployment,
    traffic: Traffic,
    wanted: str,
    state: SteadyState,
    price: float | None,
    notes: tuple[Finding, ...],
) -> Prediction:
    cluster = deployment.cluster
    ttft, tpot, rate = errors(deployment)
    hourly = float(cluster.price) if price is None else price
    output = state.output_rate_per_gpu
    return Prediction(
        deployment=deployment,
        traffic=traffic,
        wanted=wanted,
        state=state,
        ttft=ttft.of(state.ttft, "s"),
        tpot=tpot.of(state.tpot, "s"),
        output_rate=rate.of(output, "output tokens/s/GPU"),
        total_rate=rate.of(state.total_rate_per_gpu, "total tokens/s/GPU"),
        cost=inverse(rate).of(hourly / 3600 / output * 1e6, "$/Mtok output"),
        watts=state.watts + idle_watts(cluster),
        price=hourly,
        price_note=cluster.price_note if price is None else "given",
        notes=notes,
    )


def _traffic(load: Load, deployment: Deployment) -> tuple[Traffic, float | None]:
    found: list[Finding] = []
    for key, value, least in (("--input", load.input, 1), ("--output", load.output, 2)):
        if not (math.isfinite(value) and least <= value <= MOST):
            found.append(Finding(key, f"expected {least} to {MOST:,.0f} tokens, found {value:g}"))
    context = deployment.model.architecture.context
    if not found and load.input + load.output > context:
        message = f"{load.input + load.output:,.0f} tokens are more than the model's {context:,}"
        found.append(Finding("--input", message))
    if (load.concurrency is None) == (load.rate is None):
        found.append(Finding("--concurrency", "give either --concurrency or --rate"))
    if load.concurrency is not None and not 0 < load.concurrency <= MOST:
        message = f"expected more than 0 to {MOST:,.0f} requests, found {load.concurrency:g}"
        found.append(Finding("--concurrency", message))
    values: list[float | None] = []
    for shape, key, text in (
        (Rate, "--rate", load.rate),
        (Fraction, "--prefix-hit", load.prefix_hit),
        (Price, "--price", load.price),
    ):
        try:
            values.append(None if text is None else float(shape.parse(text, key)))
        except BadInput as fault:
            values.append(None)
            found += fault.findings
    if values[1] == 1:
        found.append(Finding("--prefix-hit", "at least one input token is computed; below 100 %"))
    if found:
        raise BadInput(found, "predict")
    return Traffic(input=load.input, output=load.output, prefix_hit=values[1] or 0.0), values[2]


def record(found: Prediction) -> dict[str, Any]:
    """The prediction as plain data (schema racktwin/predict/1); SI units."""
    state, names = found.state, ("ttft", "tpot", "output_rate", "total_rate", "cost")
    return {
        "deployment": found.deployment.title,
        "model": found.deployment.model.name,
        "cluster": found.deployment.cluster.name,
        "engine": found.deployment.engine.name,
        "copies": found.deployment.copies,
        "gpus_per_copy": found.deployment.gpus,
        "input_tokens": found.traffic.input,
        "output_tokens": found.traffic.output,
        "prefix_hit": found.traffic.prefix_hit,
        "overloaded": found.overloaded,
        **{name: msgspec.structs.asdict(getattr(found, name)) for name in names},
        "benchmark": (
            msgspec.to_builtins(found.benchmark)
            if found.benchmark
            else dict.fromkeys(Benchmark.__struct_fields__)
        ),
        "requests_per_s": state.requests,
        "concurrency": state.concurrency,
        "batch_per_rank": state.batch,
        "queued_s": state.queued if math.isfinite(state.queued) else None,
        "prefill_busy": state.prefill_busy,
        "watts_per_gpu": found.watts,
        "price_per_gpu_hour": found.price,
        "limit": state.limit,
        "step_seconds": state.parts,
        "evidence": {part: [str(each) for each in known] for part, known in state.evidence.items()},
        "notes": [str(each) for each in found.notes],
    }
