"""What to expect of the token exchange of a mixture of experts: dispatch and combine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, get_args

import msgspec
import numpy as np

from racktwin.estimate import Evidence
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place
from racktwin.models import Experts, Model, model
from racktwin.network import fabric, wish_check
from racktwin.network.asked import way_left
from racktwin.network.collective_wish import Wish
from racktwin.network.curve import Array
from racktwin.network.exchange import copies_sent
from racktwin.network.experts import combine, dispatch
from racktwin.network.fabric import Framework
from racktwin.network.fault import Fault
from racktwin.network.way import Way

PHASES = ("dispatch", "combine")
TOKENS: Array = 2.0 ** np.arange(0.0, 17.0)
MOST_TOKENS = 1 << 20
MODEL, PAYLOAD, FRAMEWORK = "deepseek-r1", "bf16", "trtllm"


class Exchanged(msgspec.Struct, frozen=True, kw_only=True):
    """Times of a phase over tokens per rank.

    tokens: per rank; seconds, bound: s, the bound at line rate of what leaves a rank, or of a copy
    for each NVLink domain; bytes: sent by a rank. way, condition: what is left of the links, and
    what limits them in words, or ''.
    """

    phase: str
    model: Model
    place: Place
    cluster: Cluster
    payload: str
    framework: str
    tokens: Array
    seconds: Array
    bound: Array
    bytes: Array
    evidence: Evidence
    way: Way = Way()
    condition: str = ""


def exchanged(phase: str, on: str, wish: Wish, found: list[Finding]) -> Exchanged:
    """A phase of a model's experts, one rank to a GPU; BadInput with all that is wrong.

    found: what is wrong beside.
    """
    where, missing = wish_check.located(on)
    found = [*found, *missing, *_strange(phase, wish), *wish_check.seats(wish, where)]
    name, experts, why = _experts(wish)
    found += why
    faults: tuple[Fault, ...] = ()
    if where is not None:
        faults, wrong = wish_check.broken(wish, where)
        found += wrong
        usual = min(where.gpus_per_domain, wish_check.room(wish, where))
        ranks = usual if wish.gpus is None else wish.gpus
        if experts is not None and ranks > experts.experts:
            found.append(Finding("--gpus", f"{ranks:,} ranks for {experts.experts} experts"))
    if found or where is None or name is None or experts is None:
        raise BadInput(found, "collective")
    place = where.place(ranks, wish.stride)
    gpus = np.arange(ranks) * wish.stride
    way, said = way_left(Way(), "all_to_all", gpus, where, wish.routing, faults)
    return _priced(phase, Setting(name, experts, place, where, way, said), wish)


class Setting(NamedTuple):
    """Whose experts exchange, where, over what; condition: what limits the links, in words."""

    model: Model
    experts: Experts
    place: Place
    cluster: Cluster
    way: Way
    condition: str


def _priced(phase: str, asked: Setting, wish: Wish) -> Exchanged:
    place, where, way = asked.place, asked.cluster, asked.way
    tokens = TOKENS if wish.tokens is None else np.array([wish.tokens], np.float64)
    payload, framework = wish.payload or PAYLOAD, wish.framework or FRAMEWORK
    run = dispatch if phase == "dispatch" else combine
    price = run(
        tokens,
        hidden=asked.experts.latent or asked.model.architecture.hidden,
        bytes_per_value=fabric.experts().payload[payload],
        top_k=asked.experts.top_k,
        place=place,
        cluster=where,
        framework=framework,  # type: ignore[arg-type]
        experts=asked.experts.experts,
        way=way,
    )
    least, line = price.bytes, where.nvlink * way.nvlink
    if place.domains > 1:  # a copy for each domain would do
        copies = copies_sent("rank", place.ranks / place.per_domain, asked.experts.top_k)
        hidden = asked.experts.latent or asked.model.architecture.hidden
        least = np.asarray(tokens * hidden * fabric.experts().payload[payload] * copies)
        line = where.nic * max(way.nic, way.domain)
    return Exchanged(
        phase=phase,
        model=asked.model,
        place=place,
        cluster=where,
        payload=payload,
        framework=framework,
        tokens=tokens,
        seconds=price.seconds,
        bound=np.asarray(least / line),
        bytes=price.bytes,
        evidence=price.evidence,
        way=way,
        condition=asked.condition,
    )


def _experts(wish: Wish) -> tuple[Model | None, Experts | None, list[Finding]]:
    """The model and its experts, else why there are none."""
    try:
        asked = model(wish.model or MODEL)
    except BadInput as bad:
        return None, None, [Finding("--model", each.message) for each in bad.findings]
    layers = {each.feedforward for each in asked.architecture.kinds}
    experts = next((each for each in layers if isinstance(each, Experts)), None)
    if experts is None:
        return asked, None, [Finding("--model", f"{asked.title} has no experts")]
    return asked, experts, []


def _strange(phase: str, wish: Wish) -> Iterator[Finding]:
    yield from wish_check.strangers(wish, wish_check.OF_COLLECTIVES, phase)
    yield from wish_check.routing(wish)
    if wish.framework is not None and wish.framework not in get_args(Framework):
        yield unknown("--framework", wish.framework[:40], get_args(Framework))
    if wish.payload is not None and wish.payload not in fabric.experts().payload:
        yield unknown("--payload", wish.payload[:40], fabric.experts().payload)
    if wish.tokens is not None and not 1 <= wish.tokens <= MOST_TOKENS:
        yield Finding("--tokens", f"expected 1 to {MOST_TOKENS:,}, found {wish.tokens:,}")
