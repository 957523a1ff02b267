"""A planning question as it is typed, and what is filled in where it is silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec

from racktwin import catalog, hardware
from racktwin.engine import epochs
from racktwin.engine.deployment import Speculation
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Chip, Cluster
from racktwin.models import Model, Precision
from racktwin.models import model as load_model
from racktwin.planning.ask import Ask, check, check_terms
from racktwin.planning.demand import asked
from racktwin.serving.traffic import Traffic
from racktwin.units import Fraction, Price, Quantity, Seconds

T = TypeVar("T")
Q = TypeVar("Q", bound=Quantity)
CACHES = ("bf16", "fp8")
STAND_IN = Traffic(input=1, output=2)  # so that the rest of a question can be checked


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a planner may say, as typed; None means nothing was said.

    Parameters
    ----------
    ttft
        Highest mean time to first token: 2s. No limit by default.
    tpot
        Highest mean time per output token after the first: 20ms. No limit by default.
    gpus
        GPUs to plan for; the whole cluster by default.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    precision
        Of the weights: bf16, fp8, nvfp4, mxfp4, int8, int4; else the smallest the chip computes in.
    kv_dtype
        Of the cache: bf16, fp8.
    engine
        trtllm, sglang, vllm, one release of them (trtllm-1.3), or one you calibrated.
    objective
        throughput, total, cost, tokens_per_mw, carbon, latency.
    mode
        aggregated, disaggregated, or any.
    prefix_hit
        Share of input tokens found in the cache: 40%. Of a workload what repeats, by default.
    mtp
        Multi-token prediction as drafts:acceptance, 1:0.8, or one for each draft, 2:0.8,0.6.
        The acceptance is of your traffic.
    spare
        Copies of the deployment kept idle for failures; 1 is N+1.
    price
        $3.50/GPU/h; the catalog's default price of the chip otherwise.
    memory_fraction
        Share of memory the engine may fill; its own default otherwise.
    top
        Deployments to show.
    """

    ttft: str | None = None
    tpot: str | None = None
    gpus: int | None = None
    racks: int | None = None
    nodes: int | None = None
    precision: str | None = None
    kv_dtype: str | None = None
    engine: str = "trtllm"
    objective: str = "throughput"
    mode: str = "any"
    prefix_hit: str | None = None
    mtp: str | None = None
    spare: int = 0
    price: str | None = None
    memory_fraction: str | None = None
    top: int = 5


def asks(
    name: str,
    on: Sequence[str],
    tokens_in: float | None,
    tokens_out: float | None,
    wish: Wish,
    workload: str | None = None,
) -> list[Ask]:
    """One question per cluster of `on`; BadInput with everything wrong in any of them.

    tokens_in, tokens_out: mean input and output tokens of a request, unless a workload tells.
    """
    findings: list[Finding] = []
    model = _gather(findings, lambda: load_model(name), "MODEL")
    clusters = [_cluster(each, wish, findings) for each in on]
    epoch = _gather(findings, lambda: epochs.epoch(wish.engine), "--engine")
    ttft = _read(Seconds, "--ttft", wish.ttft, findings)
    tpot = _read(Seconds, "--tpot", wish.tpot, findings)
    hit = _read(Fraction, "--prefix-hit", wish.prefix_hit, findings)
    fraction = _read(Fraction, "--memory-fraction", wish.memory_fraction, findings)
    price = _read(Price, "--price", wish.price, findings)
    speculation = _speculation(wish.mtp, findings)
    if wish.kv_dtype is not None and wish.kv_dtype not in CACHES:
        findings.append(unknown("--kv-dtype", wish.kv_dtype, CACHES))
    demand = asked(workload, tokens_in, tokens_out, hit, findings)
    terms: dict[str, Any] = {
        "traffic": demand.traffic if demand else STAND_IN,
        "ttft": ttft,
        "tpot": tpot,
        "objective": wish.objective,
        "mode": wish.mode,
        "speculation": speculation,
        "fraction": fraction,
        "top": wish.top,
    }
    findings += check_terms(**terms)
    made = []
    for cluster in clusters:
        if model is None or cluster is None or epoch is None:
            continue
        precision = _gather(findings, partial(_precision, model, cluster.chip, wish), "--precision")
        if precision is None:
            continue
        ask = Ask(
            model=model,
            cluster=cluster,
            gpus=cluster.gpus if wish.gpus is None else wish.gpus,
            precision=precision,
            epoch=epoch,
            price=float(cluster.price) if price is None else price,
            price_note=cluster.price_note if price is None else "given",
            spare=wish.spare,
            demand=demand if workload else None,
            **terms,
        )
        findings += [each for each in check(ask) if each not in findings]
        made.append(ask)
    if findings:
        raise BadInput(findings, "plan")
    return made


def default_precision(model: Model, chip: Chip) -> Precision:
    """The smallest published format the chip's tensor cores compute in.

    A checkpoint published in four bits is kept as it is, also where they are unpacked first.
    """
    if any(dtype in ("mxfp4", "nvfp4", "int4") for dtype in model.precision.formats):
        return model.precision
    for dtype in ("nvfp4", "fp8"):
        if dtype in chip.peak:
            return model.at(dtype)
    return model.precision


def _precision(model: Model, chip: Chip, wish: Wish) -> Precision:
    found = model.at(wish.precision) if wish.precision else default_precision(model, chip)
    return msgspec.structs.replace(found, kv=wish.kv_dtype) if wish.kv_dtype else found


def _cluster(name: str, wish: Wish, findings: list[Finding]) -> Cluster | None:
    if name in catalog.names("chips"):
        holding = [each for each in catalog.names("clusters") if _chip(each) == name]
        hint = f"name a cluster of it: {', '.join(holding)}" if holding else "name a cluster"
        findings.append(Finding("--on", f"{name!r} is a chip; {hint}"))
        return None
    found = _gather(findings, lambda: hardware.cluster(name), "--on")
    if found is None:
        return None
    size = "--racks" if wish.nodes is None else "--nodes"
    return _gather(findings, lambda: found.with_(wish.racks, wish.nodes), size)


def _chip(cluster: str) -> str:
    return hardware.cluster(cluster).chip.name


def _gather(findings: list[Finding], read: Callable[[], T], key: str = "") -> T | None:
    """What `read` returns; its findings otherwise, under the flag `key` and with their file."""
    try:
        return read()
    except BadInput as fault:
        file = f"{fault.source}: " if "/" in fault.source or "." in fault.source else ""
        for each in fault.findings:
            inside = f"{file}{each}" if file else each.message
            found = Finding(key, inside) if key else each
            findings += [found] if found not in findings else []
        return None


def _read(shape: type[Q], key: str, text: str | None, findings: list[Finding]) -> float | None:
    if text is None:
        return None
    found = _gather(findings, lambda: shape.parse(text, key))
    return None if found is None else float(found)


def _speculation(text: str | None, findings: list[Finding]) -> Speculation:
    if text is None:
        return Speculation()
    drafts, _, acceptance = text.partition(":")
    if not (drafts.isdecimal() and len(drafts) <= 2 and acceptance):
        findings.append(Finding("--mtp", f"{text[:20]!r} is not drafts:acceptance, as in '1:0.8'"))
        return Speculation()
    shares = [_read(Fraction, "--mtp", each, findings) for each in acceptance.split(",")]
    each = tuple(share for share in shares if share is not None)
    if len(each) != len(shares):
        return Speculation()
    if len(each) not in (1, int(drafts)):
        findings.append(Finding("--mtp", f"has {len(each)} values for {int(drafts)} drafts"))
        return Speculation()
    return Speculation(int(drafts), each if len(each) > 1 else each[0])
