"""A pool as the exporters see it: its role, its layout, and how it sits on hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.deployment_check import experts_of
from racktwin.export.span import Span, span
from racktwin.finding import BadInput, Finding


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One pool to be started.

    checkpoint: what the engine loads unless `MODEL` says otherwise; '' where that has to.
    experts: experts per layer, 0 for a dense model.
    drafts: draft tokens a step; prefill servers need them too, to fill the draft layer's cache.
    notes: lines for the head of its files.
    """

    role: str
    pool: Pool
    span: Span
    checkpoint: str
    experts: int
    drafts: int
    notes: tuple[str, ...]


def groups(deployment: Deployment) -> list[Group]:
    """The pools of one copy in the order a request meets them."""
    experts, loaded = experts_of(deployment.model), checkpoint(deployment)
    drafts = max(pool.speculation.tokens for pool in deployment.pools.values())
    found = []
    for role, pool in deployment.pools.items():
        where = span(pool.layout.gpus, deployment.cluster.gpus_per_host)
        found.append(
            Group(
                role=role,
                pool=pool,
                span=where,
                checkpoint=loaded,
                experts=experts,
                drafts=drafts,
                notes=_notes(deployment, pool, where, role),
            )
        )
    return found


def checkpoint(deployment: Deployment) -> str:
    """The published checkpoint or folder with the planned weights; '' when none is known."""
    model, precision = deployment.model, deployment.precision
    if msgspec.structs.replace(precision, kv=model.precision.kv) != model.precision:
        return ""
    if model.kind == "given":
        path = Path(model.source)
        return str(path.parent) if path.name == "config.json" else ""
    found = re.match(r"Hugging Face ([\w.-]+/[\w.-]+)", model.source)
    return found[1] if found else ""


def cache_word(deployment: Deployment, words: Mapping[str, str]) -> str:
    """What the engine calls the planned cache format; words: ours -> the engine's."""
    kv = deployment.precision.kv
    if kv not in words:
        text = f"{deployment.engine.name} keeps no {kv} cache; use {', '.join(words)}"
        raise BadInput([Finding("precision.kv", text)], "deployment")
    return words[kv]


def _notes(deployment: Deployment, pool: Pool, where: Span, role: str) -> tuple[str, ...]:
    model, engine = deployment.model, deployment.engine
    many = f"{where.hosts} hosts x {where.gpus} GPUs" if where.hosts > 1 else f"{where.gpus} GPUs"
    return (
        f"{model.title}, {role}: a replica is {many}; {pool.replicas} in a copy",
        f"planned for {engine.name} with weights in {deployment.precision.name}",
    )
