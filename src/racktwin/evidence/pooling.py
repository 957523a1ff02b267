"""The pools of replicas a row of measurements describes."""

from __future__ import annotations

import math

import msgspec

from racktwin.engine.convention import convention
from racktwin.engine.deployment import Pool, Speculation
from racktwin.evidence import label as labels
from racktwin.evidence import naming
from racktwin.evidence.cells import ROLES, Cells
from racktwin.evidence.launch import Launch
from racktwin.evidence.recipe import Run, launched
from racktwin.finding import BadInput
from racktwin.models.layout import Layout

WIDE = 16  # attention-DP ranks from which SGLang's experts are expert-parallel, whatever the label
BATCH = 512  # sequences per rank that launch scripts allow at least


class Pools(msgspec.Struct, frozen=True):
    """Pools by role, and what of them does not stand in the row."""

    pools: dict[str, Pool]
    inferred: tuple[str, ...] = ()


def read(cells: Cells, settings: Launch, *, moe: bool) -> Pools:
    """The pools of a row; BadInput where its layout columns contradict each other."""
    load = cells.numbers["concurrency"] or 1.0
    if cells.text["mode"] == "disagg":
        return _disaggregated(cells, settings, load, moe=moe)
    written = _label(cells)
    rack = cells.text["gpu_system"].startswith("gb")
    if rack and moe and (gpus := labels.total(written)):
        return _split(gpus, cells, settings, load)
    text = cells.text
    reading = labels.read(written, moe=moe, identifier=text["id"], engine=text["framework"])
    layout = _launched(reading.layout, settings, moe=moe)
    replicas = _replicas(load, cells.numbers["batch_size"], written.attention_data)
    notes = (f"{replicas} replicas: concurrency over batch size",) if replicas > 1 else ()
    pool = _pool(layout, replicas, load, settings, cells.text["framework"])
    if settings.room:
        least = int(cells.numbers["isl"] or 0) + math.ceil(load) + settings.room
        budget = max(settings.budget, least)
        pool = msgspec.structs.replace(pool, max_batch_tokens=budget)
    return Pools({"serve": pool}, (*reading.inferred, *notes))


def _launched(layout: Layout, settings: Launch, *, moe: bool) -> Layout:
    """The layout with what the launch script says and the label does not."""
    if settings.attention_data:
        return _spread(layout)
    if settings.expert_parallel and moe:
        return msgspec.structs.replace(layout, expert=layout.stage, expert_tensor=1)
    return layout


def _spread(layout: Layout) -> Layout:
    """The same GPUs with attention-data ranks of one each and experts over all of them."""
    ranks = layout.stage
    return Layout(attention_data=ranks, expert=ranks, pipeline=layout.pipeline)


def _label(cells: Cells, prefix: str = "") -> labels.Label:
    return labels.Label(
        tensor=cells.whole(f"{prefix}tp_size"),
        pipeline=cells.whole(f"{prefix}pp_size"),
        attention_data=cells.whole(f"{prefix}attention_dp_size"),
        expert_tensor=cells.whole(f"{prefix}moe_tp_size"),
        expert=cells.whole(f"{prefix}moe_ep_size"),
    )


def _replicas(load: float, batch: float | None, ranks: int | None) -> int:
    """Replicas of an aggregated deployment: the load is that of all, `batch` that of one.

    ranks: attention-data ranks of the label; with more than one, `batch` is that of a rank.
    """
    if not batch or (ranks or 1) > 1 or load % batch:
        return 1
    return int(load // batch)


def _pool(layout: Layout, replicas: int, load: float, settings: Launch, engine: str) -> Pool:
    """Clients beyond what the engine holds by default wait, and take no memory."""
    share = math.ceil(load / (replicas * layout.attention_data))
    pool = Pool(
        layout=layout,
        replicas=replicas,
        max_batch=min(max(BATCH, share), convention(engine).most),
        speculation=Speculation(tokens=settings.drafts, acceptance=settings.acceptance),
    )
    if settings.budget:
        return msgspec.structs.replace(pool, max_batch_tokens=settings.budget)
    return pool


def _split(gpus: int, cells: Cells, settings: Launch, load: float) -> Pools:
    width = 8 if cells.text["precision"] == "fp8" else 4
    count, prefill, decode = labels.split(gpus, width)
    pools = {
        "prefill": _pool(prefill, count, load, settings, cells.text["framework"]),
        "decode": _pool(decode, 1, load, settings, cells.text["framework"]),
    }
    return Pools(pools, (f"{gpus} GPUs are the sum of a prefill and a decode pool: split assumed",))


def _disaggregated(cells: Cells, settings: Launch, load: float, *, moe: bool) -> Pools:
    pools, notes, findings = {}, [], []
    for role in ROLES:
        try:
            reading = labels.read(_label(cells, f"{role}_"), moe=moe)
        except BadInput as error:
            findings += [
                msgspec.structs.replace(each, key=f"{role}_{each.key}") for each in error.findings
            ]
            continue
        replicas = cells.whole(f"{role}_num_workers") or 1
        pools[role] = _pool(reading.layout, replicas, load, settings, cells.text["framework"])
        notes += [f"{role}: {note}" for note in reading.inferred]
    if findings:
        raise BadInput(findings)
    wide = any(
        pool.layout.expert_tensor == pool.layout.attention_data >= WIDE for pool in pools.values()
    )
    if wide and cells.text["framework"] == "sglang":
        pools = {role: _expert_parallel(pool) for role, pool in pools.items()}
        notes.append("experts written as tensor-parallel over a wide attention-DP group: EP")
    run = Run(
        model=str(naming.model(cells.text["model"])),
        system=cells.text["gpu_system"],
        precision=naming.spoken(cells.text)["precision"],
        input=cells.whole("isl") or 0,
        output=cells.whole("osl") or 0,
        clients=round(load),
        drafts=settings.drafts,
    )
    if cells.text["framework"] == "trtllm":
        pools["prefill"], pools["decode"], note = launched(run, pools["prefill"], pools["decode"])
        notes += [note] if note else []
    return Pools(pools, tuple(notes))


def _expert_parallel(pool: Pool) -> Pool:
    """The same pool with its experts spread instead of cut, where attention-data ranks cut them."""
    layout = pool.layout
    if layout.attention_data == 1 or layout.expert > 1:
        return pool
    spread = msgspec.structs.replace(layout, expert=layout.expert_tensor, expert_tensor=1)
    return msgspec.structs.replace(pool, layout=spread)
