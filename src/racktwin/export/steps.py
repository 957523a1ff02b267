"""The steps of a window of a simulation for ui.perfetto.dev (Chrome trace event format)."""

from __future__ import annotations

from typing import Any

import msgspec

from racktwin.serving.simulation import Simulation

REPLICAS = 64  # of each pool that are drawn
MICRO = 1e6  # the format counts µs


def steps_json(run: Simulation) -> str:
    """One row per replica, one slice per step, or per stretch of steps without prompts."""
    events: list[dict[str, Any]] = []
    for number, role in enumerate(run.runner.pools):
        events.append(_name("process_name", number, 0, f"{role} pool"))
        for kept, log in run.kept:
            if kept == role:
                events += (_slice(number, row) for row in log[log["replica"] < REPLICAS])
        pool = run.runner.pools[role]
        for replica in range(min(REPLICAS, pool.replicas)):
            events.append(_name("thread_name", number, replica, f"replica {replica}"))
    return msgspec.json.encode({"traceEvents": events}).decode()


def _name(kind: str, pool: int, replica: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pool, "tid": replica, "args": {"name": text}}


def _slice(pool: int, row: Any) -> dict[str, Any]:
    steps, tokens, batch = int(row["steps"]), float(row["tokens"]), int(row["batch"])
    name = f"{tokens:,.0f} tokens of prompts" if tokens else f"{steps:,} x decode {batch:,}"
    return {
        "ph": "X",
        "name": name,
        "pid": pool,
        "tid": int(row["replica"]),
        "ts": float(row["begin"]) * MICRO,
        "dur": float(row["end"] - row["begin"]) * MICRO,
        "args": {"steps": steps, "prompt_tokens": tokens, "decoding": batch},
    }
