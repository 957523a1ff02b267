"""The twin from Python: what `import racktwin as rt` offers.

import racktwin as rt

cluster = rt.cluster("azure-nd-gb300-v6", racks=8)
plan = rt.plan(rt.model("deepseek-r1"), cluster, rt.traffic(8192, 1024), tpot=rt.ms(20))
plan.best.throughput_per_gpu
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from racktwin.engine import epochs
from racktwin.engine.deployment import Deployment, Speculation
from racktwin.engine.deployment_file import read_deployment
from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster, chip, cluster
from racktwin.hardware import cluster as load_cluster
from racktwin.models import Model, model
from racktwin.models import model as load_model
from racktwin.planning.ask import Ask
from racktwin.planning.capacity_wish import FINALISTS
from racktwin.planning.choice import Choice
from racktwin.planning.demand import fixed, named
from racktwin.planning.plan import Plan
from racktwin.planning.plan import plan as search
from racktwin.planning.slo import check_share, means, read_all
from racktwin.planning.task import Question, Task
from racktwin.planning.wish import default_precision
from racktwin.serving.steady import Served, SteadyState
from racktwin.serving.traffic import Traffic

if TYPE_CHECKING:
    from racktwin.planning.capacity import Capacity
    from racktwin.planning.neighbours import Neighbours
    from racktwin.planning.replay import Replay

__all__ = [
    "capacity",
    "chip",
    "cluster",
    "deployment",
    "model",
    "ms",
    "plan",
    "predict",
    "simulate",
    "traffic",
]

SECONDS = ("duration", "resolution")  # keywords that may be a number of s


def ms(value: float) -> float:
    """Milliseconds as seconds, s."""
    return value / 1000


def traffic(
    input: float,
    output: float,
    *,
    prefix_hit: float = 0.0,
    images: float = 0.0,
    image_tokens: float = 0.0,
) -> Traffic:
    """Requests of `input` and `output` tokens on average; prefix_hit: cached share of the input.

    images: per request, which make `image_tokens` tokens of the input each.
    """
    return Traffic(
        input=input,
        output=output,
        prefix_hit=prefix_hit,
        images=images,
        image_tokens=image_tokens,
    )


def deployment(path: str | Path) -> Deployment:
    """The deployment a deployment.yaml describes."""
    return read_deployment(path)[0]


def plan(
    model: Model | str,
    cluster: Cluster | str,
    traffic: Traffic,
    *,
    ttft: float | None = None,
    tpot: float | None = None,
    precision: str = "",
    engine: str = "trtllm",
    mtp: tuple[int, float | tuple[float, ...]] = (0, 0.0),
    price: float | None = None,
    **asked: Any,
) -> Plan:
    """Rank every deployment; the flags of `racktwin plan`. ttft, tpot: s; price: $/GPU/h.

    model, cluster: or their names. mtp: drafts and their acceptance. Further keywords are those of
    `planning.ask.Ask`.
    """
    asked |= {"precision": precision, "engine": engine, "mtp": mtp, "price": price}
    return search(_ask(model, cluster, traffic, ttft=ttft, tpot=tpot, **asked))


def _ask(
    model: Model | str,
    cluster: Cluster | str,
    traffic: Traffic,
    *,
    precision: str = "",
    engine: str = "trtllm",
    mtp: tuple[int, float] = (0, 0.0),
    price: float | None = None,
    **asked: Any,
) -> Ask:
    model = load_model(model) if isinstance(model, str) else model
    cluster = load_cluster(cluster) if isinstance(cluster, str) else cluster
    ask = Ask(
        model=model,
        cluster=cluster,
        gpus=asked.pop("gpus", cluster.gpus),
        traffic=traffic,
        precision=model.at(precision) if precision else default_precision(model, cluster.chip),
        epoch=epochs.epoch(engine),
        speculation=Speculation(*mtp),
        price=float(cluster.price) if price is None else price,
        price_note=cluster.price_note if price is None else "given",
    )
    return msgspec.structs.replace(ask, **asked)


def predict(
    deployment: Deployment,
    traffic: Traffic,
    *,
    concurrency: float | None = None,
    rate: float | None = None,
) -> SteadyState:
    """The steady state of one copy at `concurrency` requests in flight or `rate` requests/s."""
    served = Served(deployment)
    if concurrency is not None:
        return served.closed(traffic, concurrency)
    if rate is None:
        raise TypeError("give concurrency or rate")
    return served.open(traffic, rate)


def capacity(
    subject: Deployment | Model | str,
    traffic: Traffic | str,
    cluster: Cluster | str | None = None,
    *,
    ttft: str | float | None = None,
    tpot: str | float | None = None,
    itl: str | float | None = None,
    e2e: str | float | None = None,
    goodput: float | None = None,
    rate: float | None = None,
    spare: int = 0,
    requests: int | None = None,
    seed: int = 0,
    **asked: Any,
) -> Capacity:
    """The load a deployment sustains, or what `rate` requests/s take; `racktwin capacity`.

    subject: a deployment; a model, or its name, whose best deployments on `cluster` are searched
    first, with the keywords of `plan`. traffic: lengths, a workload's name or a file of requests.
    ttft, tpot, itl, e2e: 'p95:2s', or s of their p99. goodput: least share of requests within
    these, 0..1; they are then limits of a request, but for those with a level.
    """
    from racktwin.planning.capacity import capacity as tried  # compiles once

    said = {"ttft": ttft, "tpot": tpot, "itl": itl, "e2e": e2e}
    texts = {
        name: f"{each!r} s" if isinstance(each, float | int) else each
        for name, each in said.items()
    }
    findings: list[Finding] = []
    slos, limits = read_all(texts, None if goodput is None else repr(goodput), findings)
    demand = named(traffic) if isinstance(traffic, str) else fixed(traffic)
    findings += check_share(slos, limits, demand.classes)
    if findings:
        raise BadInput(findings, "capacity")
    task = Task(
        demand=demand,
        slos=slos,
        limits=limits,
        rate=rate,
        spare=spare,
        requests=requests,
        seed=seed,
    )
    if not isinstance(subject, Deployment):
        if cluster is None:
            raise TypeError("a model needs a cluster")
        terms: dict[str, Any] = {"top": FINALISTS, "spare": spare, "demand": demand}
        terms |= means(slos, limits) | asked
        ask = _ask(subject, cluster, demand.traffic, **terms)
        return tried(Question(subject=ask, task=task, notes=()), _quiet)
    return tried(Question(subject=subject, task=task, notes=()), _quiet)


def _quiet(text: str) -> None:
    """Nobody watches."""


def simulate(
    *deployments: Deployment | Choice | str | Path,
    engine: str | None = None,
    classes: Sequence[str] = (),
    **load: Any,
) -> Replay | Neighbours:
    """Put requests through a deployment, or several that share a cluster; `racktwin simulate`.

    Keywords are its flags: trace, workload, input, output, rate (requests/s), concurrency,
    requests, duration (s), seed, router, slo_ttft (s) ...; a list has one for each deployment.
    """
    from racktwin.planning.loads import Loads  # loads the compiler
    from racktwin.planning.neighbours import together
    from racktwin.planning.replay import replayed
    from racktwin.planning.stream_wish import Wish

    of_each = {each.name for each in dataclasses.fields(Loads)}
    listed = {
        name: list(map(partial(_typed, name), _listed(load.pop(name))))
        for name in of_each & set(load)
    }
    typed = {name: _typed(name, value) for name, value in load.items()}
    wish = Wish(classes=list(classes) or None, **typed)
    wishes = Loads(**listed).each(wish, len(deployments))
    subjects = [each.deployment if isinstance(each, Choice) else each for each in deployments]
    if len(subjects) == 1:
        return replayed(subjects[0], wishes[0], engine=engine)
    return together(subjects, wishes, engine=engine)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _typed(name: str, value: Any) -> Any:
    """A value as it would be typed: a number of seconds gets its unit, a path is text."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float | int) and (name.startswith("slo_") or name in SECONDS):
        return f"{value!r} s"
    return repr(value) if isinstance(value, float | int) and name == "rate" else value
