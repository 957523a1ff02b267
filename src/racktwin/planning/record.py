"""A plan as plain data: what `--json` prints and plan.json holds (schema racktwin/plan/1)."""

from __future__ import annotations

from typing import Any

from racktwin.engine.memory import MemoryFit
from racktwin.estimate import Estimate
from racktwin.planning.ask import Ask
from racktwin.planning.choice import Choice
from racktwin.planning.places import places
from racktwin.planning.plan import FIGURES, SHARE, FrontPoint, Plan


def record(plan: Plan) -> dict[str, Any]:
    """The whole plan; SI units, lengths in tokens, cost in $ per million output tokens."""
    return {
        "question": question(plan.ask),
        "candidates": plan.candidates,
        "meeting_limits": plan.meeting,
        "layouts": plan.layouts,
        "search_seconds": plan.seconds,
        "choices": [_choice(each, plan.ask) for each in plan.choices],
        "confirmed": _confirmed(plan) if plan.trials else None,
        "closest": _choice(plan.closest, plan.ask) if plan.closest else None,
        "front": [_point(each) for each in plan.front],
        "power_front": [_point(each) for each in plan.power_front],
    }


def _point(point: FrontPoint) -> dict[str, Any]:
    return {
        "output_tokens_per_s_per_gpu": point.per_gpu,
        "output_tokens_per_s_per_mw": point.per_mw,
        "tokens_per_s_per_user": point.per_user,
        "mode": point.mode,
        "gpus": point.gpus,
        "ttft_s": point.ttft,
    }


def question(ask: Ask) -> dict[str, Any]:
    """What was asked, defaults filled in."""
    return {
        "model": ask.model.name,
        "cluster": ask.cluster.name,
        "gpus": ask.gpus,
        "workload": ask.demand.name if ask.demand else None,
        "input_tokens": ask.traffic.input,
        "output_tokens": ask.traffic.output,
        "prefix_hit": ask.traffic.prefix_hit,
        "ttft_limit_s": ask.ttft,
        "tpot_limit_s": ask.tpot,
        "precision": ask.precision.name,
        "kv_dtype": ask.precision.kv,
        "engine": ask.epoch.name,
        "objective": ask.objective,
        "mode": ask.mode,
        "mtp_tokens": ask.speculation.tokens,
        "mtp_acceptance": ask.speculation.acceptance,
        "memory_fraction": ask.fraction,
        "spare_copies": ask.spare,
        "price_per_gpu_hour": ask.price,
        "price_note": ask.price_note,
    }


def _confirmed(plan: Plan) -> dict[str, Any]:
    from racktwin.planning import confirmation, trial_record

    return {
        "load_share": SHARE,
        "trials": [trial_record.record(each) for each in plan.trials],
        "misses": list(confirmation.misses(plan)),
        "notes": confirmation.remarks(plan),
    }


def _choice(choice: Choice, ask: Ask) -> dict[str, Any]:
    seated = places(choice.deployment, choice.memory, ask.traffic.input)
    pools = {
        role: {
            "replicas": pool.replicas,
            "tensor": pool.layout.tensor,
            "pipeline": pool.layout.pipeline,
            "attention_data": pool.layout.attention_data,
            "expert": pool.layout.expert,
            "expert_tensor": pool.layout.expert_tensor,
            "max_batch": pool.max_batch,
            "max_batch_tokens": pool.max_batch_tokens,
            "memory": _memory(choice.memory[role]),
        }
        for role, pool in choice.deployment.pools.items()
    }
    return {
        "title": choice.deployment.title,
        "gpus": choice.deployment.gpus,
        "copies": choice.deployment.copies,
        "busy_copies": choice.busy_copies,
        "places": {
            "domains": seated.domains,
            "caches_between_domains": seated.away,
            "cache_within_s": seated.near,
            "cache_between_s": seated.far,
        },
        "pools": pools,
        **{name: _estimate(getattr(choice, name)) for name in FIGURES},
        "requests_per_s": choice.requests,
        "concurrency": choice.concurrency,
        "prefill_busy": choice.prefill_busy,
        "cluster_output_tokens_per_s": choice.cluster_rate,
        "rack_power_w": choice.rack_power,
        "limit": choice.limit,
        "step_seconds": choice.parts,
        "evidence": {
            part: [str(each) for each in known] for part, known in choice.evidence.items()
        },
    }


def _estimate(value: Estimate) -> dict[str, Any]:
    return {
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "unit": value.unit,
        "evidence": value.evidence,
    }


def _memory(fit: MemoryFit) -> dict[str, float]:
    names = ("visible", "weights", "activations", "communication", "reserved", "kv_room")
    sizes: dict[str, float] = {f"{name}_bytes": getattr(fit, name) for name in names}
    return sizes | {"kv_tokens": fit.kv_tokens}
