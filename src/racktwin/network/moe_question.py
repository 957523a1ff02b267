"""What to expect of the token exchange of a mixture of experts: dispatch and combine."""

from __future__ import annotations

from typing import get_args

import msgspec
import numpy as np

from racktwin.estimate import Evidence
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place, cluster
from racktwin.models import Experts, Model, model
from racktwin.network import fabric
from racktwin.network.collective_wish import Wish
from racktwin.network.curve import Array
from racktwin.network.experts import combine, dispatch
from racktwin.network.fabric import Framework

PHASES = ("dispatch", "combine")
TOKENS: Array = 2.0 ** np.arange(0.0, 17.0)
MOST_TOKENS = 1 << 20


class Exchanged(msgspec.Struct, frozen=True, kw_only=True):
    """Times of a phase over tokens per rank.

    tokens: per rank; seconds, bound: s, the bound at line rate of what leaves a rank; bytes: sent
    by a rank.
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


def exchanged(phase: str, on: str, wish: Wish) -> Exchanged:
    """A phase of a model's experts, one rank to a GPU; BadInput with all that is wrong."""
    where = cluster(on)
    found = [*_faults(wish, where)]
    try:
        asked = model(wish.model or "deepseek-r1")
    except BadInput as bad:
        raise BadInput([*found, *bad.findings], "collective") from None
    layers = {each.feedforward for each in asked.architecture.kinds}
    experts = next((each for each in layers if isinstance(each, Experts)), None)
    if experts is None:
        found.append(Finding("--model", f"{asked.title} has no experts"))
    ranks = wish.gpus or where.gpus_per_domain
    if experts is not None and ranks > experts.experts:
        found.append(Finding("--gpus", f"{ranks:,} ranks for {experts.experts} experts"))
    if found or experts is None:
        raise BadInput(found, "collective")
    place = where.place(ranks, wish.stride)
    tokens = TOKENS if wish.tokens is None else np.array([wish.tokens], np.float64)
    run = dispatch if phase == "dispatch" else combine
    size = fabric.experts().payload[wish.payload]
    price = run(
        tokens,
        hidden=experts.latent or asked.architecture.hidden,
        bytes_per_value=size,
        top_k=experts.top_k,
        place=place,
        cluster=where,
        framework=wish.framework,  # type: ignore[arg-type]
        experts=experts.experts,
    )
    away = 1.0 if place.domains == 1 else 1 - place.per_domain / place.ranks
    line = where.nvlink if place.domains == 1 else where.nic
    return Exchanged(
        phase=phase,
        model=asked,
        place=place,
        cluster=where,
        payload=wish.payload,
        framework=wish.framework,
        tokens=tokens,
        seconds=price.seconds,
        bound=np.asarray(price.bytes * away / line),
        bytes=price.bytes,
        evidence=price.evidence,
    )


def _faults(wish: Wish, where: Cluster) -> list[Finding]:
    found = []
    if wish.framework not in get_args(Framework):
        found.append(unknown("--framework", wish.framework, get_args(Framework)))
    if wish.payload not in fabric.experts().payload:
        found.append(unknown("--payload", wish.payload, fabric.experts().payload))
    if wish.tokens is not None and not 1 <= wish.tokens <= MOST_TOKENS:
        found.append(Finding("--tokens", f"expected 1 to {MOST_TOKENS:,}, found {wish.tokens}"))
    if wish.stride < 1:
        found.append(Finding("--stride", f"expected 1 or more, found {wish.stride}"))
    if wish.gpus is not None and not 2 <= wish.gpus <= where.gpus // max(wish.stride, 1):
        message = f"expected 2 to {where.gpus // max(wish.stride, 1):,}, found {wish.gpus:,}"
        found.append(Finding("--gpus", message))
    return found
