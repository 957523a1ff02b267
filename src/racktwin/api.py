"""The twin from Python: what `import racktwin as rt` offers.

import racktwin as rt

cluster = rt.cluster("azure-nd-gb300-v6", racks=8)
plan = rt.plan(rt.model("deepseek-r1"), cluster, rt.traffic(8192, 1024), tpot=rt.ms(20))
plan.best.throughput_per_gpu
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from racktwin.engine import epochs
from racktwin.engine.deployment import Deployment, Speculation
from racktwin.engine.deployment_file import read_deployment
from racktwin.hardware import Cluster, chip, cluster
from racktwin.hardware import cluster as load_cluster
from racktwin.models import Model, model
from racktwin.models import model as load_model
from racktwin.planning.ask import Ask
from racktwin.planning.plan import Plan
from racktwin.planning.plan import plan as search
from racktwin.planning.wish import default_precision
from racktwin.serving.steady import Served, SteadyState
from racktwin.serving.traffic import Traffic

__all__ = ["chip", "cluster", "deployment", "model", "ms", "plan", "predict", "traffic"]


def ms(value: float) -> float:
    """Milliseconds as seconds, s."""
    return value / 1000


def traffic(input: float, output: float, *, prefix_hit: float = 0.0) -> Traffic:
    """Requests of `input` and `output` tokens on average; prefix_hit: cached share of the input."""
    return Traffic(input=input, output=output, prefix_hit=prefix_hit)


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
    model = load_model(model) if isinstance(model, str) else model
    cluster = load_cluster(cluster) if isinstance(cluster, str) else cluster
    ask = Ask(
        model=model,
        cluster=cluster,
        gpus=asked.pop("gpus", cluster.gpus),
        traffic=traffic,
        ttft=ttft,
        tpot=tpot,
        precision=model.at(precision) if precision else default_precision(model, cluster.chip),
        epoch=epochs.epoch(engine),
        speculation=Speculation(*mtp),
        price=float(cluster.price) if price is None else price,
        price_note=cluster.price_note if price is None else "given",
    )
    return search(msgspec.structs.replace(ask, **asked))


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
