"""What is wrong with a deployment, and what is worth knowing about it: every finding at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from racktwin.engine.deployment import ROUTERS, Deployment, Pool
from racktwin.engine.epoch import Engine, Epoch
from racktwin.finding import Finding, unknown
from racktwin.hardware import Cluster
from racktwin.models import Experts, Layout, Model, Precision
from racktwin.models.layout import check as check_layout


def check(deployment: Deployment) -> list[Finding]:
    """Everything that keeps `deployment` from running, and notes; keys as in deployment.yaml."""
    pools = deployment.pools
    found = [*model_findings(pools, deployment.model, deployment.precision)]
    found += engine_findings(pools, deployment.model, deployment.engine)
    if deployment.router not in ROUTERS:
        found.append(unknown("router", deployment.router, ROUTERS))
    return [*found, *cluster_findings(pools, deployment.copies, deployment.cluster)]


def experts_of(model: Model) -> int:
    """Routed experts of a layer of `model`, the most where layers differ; 0 for a dense one."""
    layers = model.architecture.kinds
    counts = [each.feedforward.experts for each in layers if isinstance(each.feedforward, Experts)]
    return max(counts, default=0)


def model_findings(
    pools: Mapping[str, Pool], model: Model, precision: Precision
) -> Iterator[Finding]:
    """Layouts that `model` cannot be cut into, and steps that cannot hold a pool's sequences."""
    architecture = msgspec.structs.replace(model.architecture, name=model.title)
    for role, pool in pools.items():
        for each in check_layout(pool.layout, architecture, precision, pool.spare_experts):
            yield Finding(f"{role}.{each.key}", each.message, note=each.note)
        drafts = pool.speculation.tokens
        if drafts and not model.architecture.mtp:
            yield Finding(f"{role}.mtp", f"{model.title} has no multi-token-prediction layers")
        need = pool.max_batch * (1 + drafts)
        if role != "prefill" and pool.max_batch_tokens < need:
            message = f"{pool.max_batch_tokens:,} tokens cannot hold a step of {need:,}"
            message += " (max_batch x (1 + mtp.tokens))"
            yield Finding(f"{role}.max_batch_tokens", message)
    made = {role: pool.speculation.tokens for role, pool in pools.items()}
    if made.get("prefill", 0) not in (0, made.get("decode", 0)):
        text = f"decode drafts {made.get('decode', 0)} tokens; use that number"
        yield Finding("prefill.mtp", text)


def engine_findings(pools: Mapping[str, Pool], model: Model, engine: Epoch) -> Iterator[Finding]:
    """Layouts that the engine has no flags for."""
    experts = experts_of(model) > 0
    for role, pool in pools.items():
        found = unsupported(pool.layout, engine.engine, experts)
        if found is not None:
            yield Finding(f"{role}.{found.key}", found.message)


def unsupported(layout: Layout, engine: Engine, experts: bool) -> Finding | None:
    """Why `engine` cannot run `layout` of a model with or without experts, if it cannot."""
    stage = layout.stage
    if engine == "trtllm" and layout.tensor > 1 and layout.attention_data > 1:
        text = "an attention-data rank of TensorRT-LLM is one GPU; use tensor 1 with "
        return Finding("tensor", f"{text}attention_data {stage}, or tensor {stage} alone")
    if engine == "vllm" and experts and layout.expert not in (1, stage):
        text = f"vLLM spreads experts over all {stage} GPUs of a stage or over none; "
        return Finding("expert", f"{text}use {stage} or 1")
    return None


def cluster_findings(pools: Mapping[str, Pool], copies: int, cluster: Cluster) -> Iterator[Finding]:
    """More GPUs than there are; groups that leave their NVLink domain (notes)."""
    needs = {role: pool.most * pool.layout.gpus for role, pool in pools.items()}
    one = sum(needs.values())
    if one > cluster.gpus:
        widest = max(needs, key=lambda role: needs[role])
        message = f"one copy needs {one:,} GPUs; {cluster.name} has {cluster.gpus:,}"
        key = "autoscale.max" if pools[widest].autoscale else "replicas"
        yield Finding(f"{widest}.{key}", message)
        return
    if copies * one > cluster.gpus:
        most = cluster.gpus // one
        message = f"{copies:,} copies of {one:,} GPUs need {copies * one:,}; "
        yield Finding(
            "copies", f"{message}{cluster.name} has {cluster.gpus:,}, enough for {most:,}"
        )
        return
    unit = domain_word(cluster)
    domain = cluster.gpus_per_domain
    for role, pool in pools.items():
        layout = pool.layout
        if layout.tensor > domain:
            message = f"{layout.tensor} ranks span {-(-layout.tensor // domain)} {unit}: every "
            yield Finding(f"{role}.tensor", f"{message}all-reduce crosses the fabric", note=True)
        elif layout.stage > domain and layout.expert > 1:
            key = "attention_data" if layout.attention_data > 1 else "expert"
            message = f"{layout.stage} ranks span {-(-layout.stage // domain)} {unit}: "
            share = 100 * outside(layout.stage, domain)
            message += f"{share:.0f} % of the dispatch goes over the fabric"
            yield Finding(f"{role}.{key}", message, note=True)
    for role, (split, stages) in straddling(pools, copies, cluster).items():
        message = f"{split:,} of {stages:,} stages of {pools[role].layout.stage} GPUs cannot be "
        yield Finding(f"{role}.replicas", f"{message}kept inside {unit} and span two", note=True)


def domain_word(cluster: Cluster) -> str:
    """What an NVLink domain of `cluster` is called."""
    if cluster.gpus_per_domain == cluster.gpus_per_host:
        return "hosts"
    return "racks" if cluster.gpus_per_domain == cluster.gpus_per_rack else "NVLink domains"


def outside(ranks: int, domain: int) -> float:
    """Share of messages to any of `ranks` consecutive ranks that leave their domain, fraction."""
    full, rest = divmod(ranks, domain)
    return 1 - (full * domain**2 + rest**2) / ranks**2


def straddling(
    pools: Mapping[str, Pool], copies: int, cluster: Cluster
) -> dict[str, tuple[int, int]]:
    """Pipeline stages that find no domain with room for all their GPUs, and all of their role.

    Larger stages are placed first, each in the fullest domain that has room.
    """
    domain = cluster.gpus_per_domain
    full, rest = divmod(cluster.gpus, domain)
    room = {domain: full, rest: 1} if rest else {domain: full}  # free GPUs -> domains
    found = {}
    for role, pool in sorted(pools.items(), key=lambda each: -each[1].layout.stage):
        size = pool.layout.stage
        wanted = stages = copies * pool.most * pool.layout.pipeline
        if size > domain:
            continue
        for free in sorted(room):
            fit = min(wanted, room[free] * (free // size))
            if not fit:
                continue
            whole, part = divmod(fit, free // size)
            room[free] -= whole + bool(part)
            for rest, count in ((free % size, whole), (free - part * size, bool(part))):
                room[rest] = room.get(rest, 0) + count
            wanted -= fit
        if wanted:
            found[role] = (wanted, stages)
    return found
