"""A replay as plain data: schema racktwin/simulate/1."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from racktwin.planning.replay import Replay
from racktwin.serving.by_class import Felt
from racktwin.serving.fleet import BATCH, DECODED, JOULES, PREFILLED, Floats
from racktwin.serving.outcome import readings
from racktwin.serving.pool import READINGS
from racktwin.serving.sample import Spread
from racktwin.serving.simulation import FINISHED, INSIDE, WAITING


def record(found: Replay) -> dict[str, Any]:
    """The replay as plain data; SI units, null where there is no figure."""
    outcome, order, deployment = found.outcome, found.order, found.deployment
    spreads = ("ttft", "tpot", "itl", "e2e", "queue", "ttst")
    return {
        "deployment": deployment.title,
        "model": deployment.model.name,
        "cluster": deployment.cluster.name,
        "engine": deployment.engine.name,
        "copies": deployment.copies,
        "gpus": outcome.gpus,
        "load": found.load,
        "router": order.router,
        "router_scope": order.scope,
        "definitions": order.definition.name,
        "limits": {name: _plain(getattr(order.limits, name)) for name in ("ttft", "tpot", "e2e")},
        "requests": {
            "arrived": outcome.arrived,
            "finished": outcome.finished,
            "refused": outcome.refused,
            "never_served": outcome.unserved,
            "counted": outcome.counted,
        },
        "span_s": [outcome.span.begin, outcome.span.end],
        "everything_counted": outcome.span.whole,
        "too_short": outcome.short,
        "overloaded": outcome.overloaded,
        "interrupted": outcome.stopped,
        "queue_growth_per_s": outcome.growth,
        **{name: _spread(getattr(outcome, name)) for name in spreads},
        "ttft_estimate": msgspec.structs.asdict(found.mean_ttft),
        "tpot_estimate": msgspec.structs.asdict(found.mean_tpot),
        "requests_per_s": outcome.requests,
        "good_requests_per_s": outcome.good,
        "input_tokens_per_s": outcome.input,
        "output_tokens_per_s": outcome.output,
        "cached_share": outcome.hits,
        "images": {
            "requests": found.run.images,
            "encoding_s": found.run.encoding / max(found.run.images, 1),
        },
        "offload": offload(found),
        "in_flight": outcome.inside,
        "in_flight_by_little": _plain(outcome.little),
        "watts_per_gpu": found.watts,
        "joules_per_request": _per(found.watts * outcome.powered, outcome.requests),
        "joules_per_output_token": _per(found.watts * outcome.powered, outcome.output),
        "gpu_hours": outcome.gpu_hours,
        "cost": outcome.cost,
        "classes": [_class(each) for each in outcome.classes],
        "pools": {role: msgspec.structs.asdict(use) for role, use in outcome.pools.items()},
        "simulated_s": outcome.seconds,
        "simulator": "oracle" if order.oracle else "kernel",
        "timeline": timeline(found),
        "notes": list(found.notes),
    }


def _class(each: Felt) -> dict[str, Any]:
    limits = msgspec.structs.asdict(each.limits)
    return {
        "name": each.name,
        "priority": each.priority,
        "limits": {name: _plain(value) for name, value in limits.items()},
        "counted": each.counted,
        "requests_per_s": each.requests,
        "good_requests_per_s": each.good,
        "good_share": _plain(each.attained),
        **{name: _spread(getattr(each, name)) for name in ("ttft", "tpot", "e2e", "queue")},
    }


def _per(power: float, rate: float) -> float | None:
    """J of each of `rate` things per s, at `power` W."""
    return power / rate if rate else None


def offload(found: Replay) -> dict[str, Any]:
    """The tiers below the prefix caches; zeros where there are none."""
    asked, tiers = found.deployment.offload, found.run.tiers
    sizes = {"host": asked.host, "shared": asked.shared}
    made: dict[str, Any] = {
        name: {"bytes": float(size), **msgspec.structs.asdict(getattr(found.outcome, name))}
        for name, size in sizes.items()
    }
    made["host"]["bandwidth"] = float(tiers.host_bandwidth) if tiers else 0.0
    made["shared"]["bandwidth"] = float(tiers.shared_bandwidth) if tiers else 0.0
    made["unit_tokens"] = found.run.unit
    return made


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _spread(spread: Spread) -> dict[str, float | None]:
    return {name: _plain(value) for name, value in msgspec.structs.asdict(spread).items()}


def timeline(found: Replay) -> dict[str, Any]:
    """What happened between edges (rates, per s) and at them, from the start to the end."""
    run = found.run
    columns, times = run.timeline.columns, np.asarray(run.timeline.times)
    roles = tuple(run.runner.pools)

    def per_second(*rows: Floats) -> list[float]:
        return [float(each) for each in np.diff(sum(rows)) / np.diff(times)]

    def of(index: int) -> list[Floats]:
        return [readings(run, role, index) for role in roles]

    joules = [
        readings(run, role, JOULES) * use.gpus / run.runner.pools[role].replicas
        for role, use in found.outcome.pools.items()
    ]
    return {
        "edge_s": [float(each) for each in times],
        "finished_per_s": per_second(columns[FINISHED]),
        "output_tokens_per_s": per_second(columns[FINISHED], *of(DECODED)),
        "input_tokens_per_s": per_second(*of(PREFILLED)),
        "decoding": per_second(*of(BATCH)),
        "working_watts": per_second(*joules),
        "in_flight": [float(each) for each in columns[INSIDE]],
        "waiting": [float(each) for each in columns[WAITING]],
        "replicas_up": {
            role: [float(each) for each in readings(run, role, READINGS.index("up"))]
            for role in roles
        },
        "itl_p50": [_plain(each.level(0.5)) for each in run.timeline.gaps],
        "itl_p99": [_plain(each.level(0.99)) for each in run.timeline.gaps],
    }
