"""Neighbours as plain data: schema racktwin/simulate/1 of several deployments."""

from __future__ import annotations

from typing import Any

from racktwin.planning.neighbours import APART, Neighbours
from racktwin.planning.replay_record import record as plain


def record(found: Neighbours) -> dict[str, Any]:
    """The totals and each deployment as plain data; SI units."""
    cluster = found.cluster
    return {
        "cluster": cluster.name,
        "total": {
            "gpus": found.gpus,
            "cluster_gpus": cluster.gpus,
            "busy": found.busy,
            "requests_per_s": found.total("requests"),
            "good_requests_per_s": found.total("good"),
            "input_tokens_per_s": found.total("input"),
            "output_tokens_per_s": found.total("output"),
            "watts": found.watts,
            "idle_watts": found.idle_watts,
        },
        "deployments": [
            {"name": name, **plain(each)}
            for name, each in zip(found.names, found.replays, strict=True)
        ],
        "notes": [APART],
    }
