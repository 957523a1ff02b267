"""Jobs on a fabric as plain data."""

from __future__ import annotations

from typing import Any

from racktwin.network.contention import Contention, JobOutcome
from racktwin.network.routing import congestion, efficiency, nic_efficiency
from racktwin.network.timeline import timeline


def record(found: Contention) -> dict[str, Any]:
    """Everything found, in SI units."""
    traffic, run = found.traffic, found.run
    line = timeline(run, found.links, min(each.start for each in found.jobs))
    cluster = traffic.cluster
    return {
        "cluster": cluster.name,
        "gpus": cluster.gpus,
        "routing": traffic.routing,
        "congestion": traffic.control,
        "isolation": traffic.isolated,
        "seed": traffic.seed,
        "faults": [str(each) for each in traffic.faults],
        "idle_faults": [str(each) for each in found.idle],
        "seconds": found.seconds,
        "classes": found.classes,
        "steps": run.steps,
        "grain": run.grain,
        "jobs": [
            _job(each, found.draws[at] if found.draws else ()) for at, each in enumerate(found.jobs)
        ],
        "busiest": [{"link": name, "utilisation": share} for name, share in found.busiest],
        "timeline": {
            "edge_s": line.edges.tolist(),
            "tiers": [
                {"tier": name, "mean": mean.tolist(), "peak": line.peak[name].tolist()}
                for name, mean in line.mean.items()
            ],
        },
        "assumptions": {
            "nic_efficiency": nic_efficiency(cluster),
            "pairs_efficiency": efficiency(traffic.routing, "pairs"),
            "many_efficiency": efficiency(traffic.routing, "many"),
            "reaction_s": float(congestion().reaction),
            "victim_loss": float(congestion().victim_loss),
        },
    }


def _job(one: JobOutcome, draws: tuple[float, ...]) -> dict[str, Any]:
    job = one.job
    return {
        "name": job.name,
        "pattern": job.pattern,
        "gpus": len(job.gpus),
        "receivers": len(job.to),
        "flows": one.flows,
        "size": job.size,
        "repeat": job.repeat,
        "nic_bytes": one.bytes,
        "start_s": one.start,
        "finish_s": one.finish,
        "seconds": one.seconds,
        "alone_s": one.alone,
        "slowdown": one.slowdown,
        "floor_s": one.floor,
        "first_s": one.first,
        "median_s": one.middle,
        "last_s": one.last,
        "rate": one.flow_rate,
        "draws_s": list(draws),
    }
