"""Deployment -> deployment.yaml, with every default written out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import yaml

from racktwin import hardware
from racktwin.engine.autoscale import Autoscale
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.deployment_check import experts_of
from racktwin.engine.epochs import epoch
from racktwin.engine.offload import Offload
from racktwin.finding import BadInput, Finding
from racktwin.models import Model, Precision, model
from racktwin.models.precision import PARTS
from racktwin.units import Quantity

COLUMN = 32  # where comments begin
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}  # what YAML reads as no word
T = TypeVar("T")


def write_deployment(deployment: Deployment, folder: str = ".") -> str:
    """The text of a deployment.yaml that reads back as `deployment` from a file in `folder`.

    Raises BadInput when a part of it has no name: a model, cluster, engine or precision that was
    put together in Python and lies in no file.
    """
    lines = ["# Every key, unit and default: docs/reference/deployment.md"]
    lines += _line("model", text(_model_name(deployment.model, folder)), deployment.model.title)
    cluster = deployment.cluster
    shape = f"{cluster.gpus:,} {cluster.chip.title} GPUs"
    lines += _line("cluster", _cluster(deployment, folder), shape)
    _same("engine", epoch, deployment.engine.name, deployment.engine)
    lines += _line("engine", text(deployment.engine.name), "engine and version")
    precision = _precision(deployment.model, deployment.precision)
    flow = ", ".join(f"{key}: {text(word)}" for key, word in precision.items())
    lines += _line("precision", f"{{{flow}}}")
    if deployment.memory_fraction is not None:
        share = f"{float(deployment.memory_fraction)!r}"
        lines += _line("memory_fraction", share, "of memory, by the engine's own rule")
    if deployment.scheduler:
        lines += _line("scheduler", deployment.scheduler, "how the engine admits requests")
    for role, pool in deployment.pools.items():
        lines += ["", f"{role}:", *_pool(pool, experts_of(deployment.model))]
    lines += [
        "",
        *_line("router", text(deployment.router), "how requests are spread over replicas"),
    ]
    scope = "whether a router sees all copies (deployment) or its own (copy)"
    lines += _line("router_scope", text(deployment.router_scope), scope)
    if deployment.offload != Offload():
        comment = "prefixes beyond GPU memory; host is for each GPU"
        lines += _line("offload", f"{{{_offload(deployment.offload)}}}", comment)
    lines += _line("copies", str(deployment.copies), f"of the {deployment.gpus:,} GPUs above")
    return "\n".join([*lines, ""])


def text(word: str) -> str:
    """`word` as a YAML scalar: plain where that is safe, else quoted."""
    if PLAIN.fullmatch(word) and word.lower() not in WORDS:
        return word
    return str(yaml.safe_dump(word, default_style='"', width=sys.maxsize)).rstrip("\n")


def _line(key: str, value: str, comment: str = "") -> list[str]:
    left = f"{key}: {value}"
    note = "".join(each if each.isprintable() else " " for each in comment)
    return [f"{left:{COLUMN}}  # {note}" if note else left]


def _pool(pool: Pool, experts: int) -> Iterator[str]:
    layout, mtp = pool.layout, pool.speculation
    gpus = f"{layout.gpus} GPU{'s' * (layout.gpus > 1)}"
    rows = [
        ("replicas", pool.replicas, f"in one copy, of {gpus} each"),
        ("tensor", layout.tensor, "ranks that split each attention and dense layer"),
        ("pipeline", layout.pipeline, "stages that share out the layers"),
        ("attention_data", layout.attention_data, "ranks with their own sequences and cache"),
    ]
    if experts:
        rows += [
            ("expert", layout.expert, "ranks that share out the experts of a layer"),
            ("expert_tensor", layout.expert_tensor, "ranks that split each expert"),
            ("slots", experts + pool.spare_experts, f"places for the {experts} experts of a layer"),
        ]
    rows += [
        ("max_batch", pool.max_batch, "sequences per attention-data rank"),
        ("max_batch_tokens", pool.max_batch_tokens, "tokens of a step per attention-data rank"),
    ]
    for key, value, comment in rows:
        yield from _line(f"  {key}", str(value), comment)
    if mtp.tokens:
        given = mtp.acceptance
        each = list(given) if isinstance(given, tuple) else given
        flow = f"{{tokens: {mtp.tokens}, acceptance: {each!r}}}"
        yield from _line("  mtp", flow, "drafts a step; probability of each")
    if pool.autoscale:
        yield from _line("  autoscale", _autoscale(pool.autoscale), pool.autoscale.title)


def _autoscale(asked: Autoscale) -> str:
    words = {"min": str(asked.least), "max": str(asked.most)}
    target = int(asked.target) if asked.metric == "prefill" else asked.target
    words |= {asked.metric: repr(target)}
    words |= {"interval": f"{asked.interval!r} s", "tolerance": repr(asked.tolerance)}
    words |= {"stabilisation": f"{asked.stabilisation!r} s"}
    if asked.start_up is not None:
        words |= {"start_up": f"{asked.start_up!r} s"}
    return f"{{{', '.join(f'{key}: {word}' for key, word in words.items())}}}"


def _offload(offload: Offload) -> str:
    words = []
    for key, value in msgspec.structs.asdict(offload).items():
        if isinstance(value, Quantity):
            exact = type(value).read(str(value)) == value
            words.append(f"{key}: {value if exact else f'{float(value)!r} {value.si()}'}")
        elif value is not None:
            words.append(f"{key}: {value}")
    return ", ".join(words)


def _model_name(of: Model, folder: str) -> str:
    """A name or path that stands for `of`; a published quantized checkpoint ends in its format."""
    names = [of.source] if of.kind == "given" else [of.name, f"{of.name}-{of.precision.name}"]
    for name in names:
        if _loads(model, name) == of:
            return _seen_from(folder, name) if of.kind == "given" else name
    raise _unnamed("model", of.name)


def _cluster(deployment: Deployment, folder: str) -> str:
    cluster = deployment.cluster
    name = cluster.source or cluster.name
    base = _loads(hardware.cluster, name)
    if base is None:
        raise _unnamed("cluster", name)
    shown = text(_seen_from(folder, name) if cluster.source else name)
    words = {"extends": shown}
    if cluster.hosts != base.hosts:
        whole, rest = divmod(cluster.hosts, cluster.rack.hosts)
        words |= {"nodes": str(cluster.hosts)} if rest else {"racks": str(whole)}
        base = base.with_(nodes=cluster.hosts)
    if cluster.price != base.price:
        words["price"] = f"${float(cluster.price)!r}/GPU/h"
    priced = msgspec.structs.replace(base, price=cluster.price, price_note=cluster.price_note)
    if priced != cluster:
        raise _unnamed("cluster", name)
    flow = ", ".join(f"{key}: {word}" for key, word in words.items())
    return shown if len(words) == 1 else f"{{{flow}}}"


def _seen_from(folder: str, name: str) -> str:
    """The path `name` as a file in `folder` has to give it; what is not relative stays."""
    path = os.path.expanduser(name)
    if os.path.isabs(path) or not os.path.exists(path):
        return name
    return os.path.relpath(os.path.abspath(path), os.path.realpath(folder))


def _precision(of: Model, precision: Precision) -> dict[str, str]:
    """Preset, cache format, and the parts in which they differ from the preset."""
    base = _loads(of.at, precision.name)
    if base is None or base.layers != precision.layers:
        raise _unnamed("precision", precision.name)
    parts = [part for part in (*PARTS, "state") if base.of(part) != precision.of(part)]
    words = {"weights": precision.name, "kv": precision.kv}
    return words | {part: precision.of(part) for part in parts}


def _loads(load: Callable[[str], T], name: str) -> T | None:
    try:
        return load(name)
    except BadInput:
        return None


def _same(key: str, load: Callable[[str], T], name: str, thing: T) -> None:
    if _loads(load, name) != thing:
        raise _unnamed(key, name)


def _unnamed(key: str, name: str) -> BadInput:
    text = f"{name!r} differs from what this name stands for; put it into a file and name that"
    return BadInput([Finding(key, text)], "deployment")
