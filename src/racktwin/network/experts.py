"""MoE dispatch and combine: tokens to the ranks that hold their experts, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.finding import BadInput, unknown
from racktwin.kernels.priced import Priced
from racktwin.network import fabric
from racktwin.network.collective import ALONE, moved
from racktwin.network.curve import Array, smooth_sum
from racktwin.network.exchange import Exchange, touched
from racktwin.network.fabric import Framework
from racktwin.network.hierarchy import nic_bandwidth

if TYPE_CHECKING:
    from racktwin.hardware import Cluster, Place

Phase = Literal["prepare", "dispatch", "combine"]


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """How the tokens of a MoE layer travel.

    hidden: values per token; top_k: experts per token; experts: routed experts over all ranks;
    place: the expert-parallel ranks; low_latency: DeepEP's decode mode; library: one of
    catalog/fabrics/experts.yaml instead of the framework's own; imbalance: bytes of the busiest
    rank over the mean. Routing is uniform over experts.
    """

    hidden: int
    top_k: int
    experts: int
    place: Place
    cluster: Cluster
    framework: Framework
    low_latency: bool = False
    library: str = ""
    imbalance: float = 1.0


def dispatch(tokens: npt.ArrayLike, routing: Routing, payload: str = "bf16") -> Priced:
    """Send `tokens` tokens per rank to their experts, the library's 'prepare' step included.

    payload: dtype on the wire, 'bf16', 'fp8' or 'nvfp4' (scales are counted).
    """
    sent = _phase("dispatch", tokens, routing, payload)
    prepares = "prepare" in fabric.experts().libraries[_library(routing)].steps
    return sent + _phase("prepare", tokens, routing, payload) if prepares else sent


def combine(tokens: npt.ArrayLike, routing: Routing, payload: str = "bf16") -> Priced:
    """Bring the experts' results of `tokens` tokens per rank home and add them."""
    return _phase("combine", tokens, routing, payload)


def _phase(phase: Phase, tokens: npt.ArrayLike, routing: Routing, payload: str) -> Priced:
    count = np.asarray(tokens, np.float64)
    place, facts = routing.place, fabric.experts()
    if payload not in facts.payload:
        raise BadInput([unknown("payload", payload, facts.payload)])
    name = _library(routing)
    exchange, evidence = _exchange(name, phase, payload, routing.cluster)
    if place.ranks < 2:
        return moved(0 * count, 0 * count, ALONE, place)
    if phase == "prepare":
        time = exchange.seconds(count, place.ranks)
        return moved(0 * count, np.where(count > 0, time, 0.0), evidence, place)
    copies = _copies(routing, facts.libraries[name].copies)
    size = count * routing.hidden * facts.payload[payload] * routing.imbalance
    if place.ranks <= place.per_domain:
        time = exchange.seconds(size * copies, place.ranks, routing.experts)
        nic = np.zeros_like(size)
    else:
        nic = size * _outside(routing, facts.libraries[name].copies)
        time = _over_domains(exchange, size * copies, nic, routing)
        evidence = Evidence("formula", f"{evidence.name}; {nic_bandwidth(routing.cluster)[1]}")
    wire = size * copies * (1 - 1 / place.ranks)
    floor = np.maximum((wire - nic) / routing.cluster.nvlink, nic / routing.cluster.nic)
    return moved(wire, np.where(count > 0, np.maximum(time, floor), 0.0), evidence, place)


def _over_domains(exchange: Exchange, size: Array, nic: Array, routing: Routing) -> Array:
    """Both tiers at once: starts add up, then the busier tier decides."""
    own = exchange.seconds(0.0, routing.place.per_domain, routing.experts)
    inner = exchange.seconds(size, routing.place.per_domain, routing.experts) - own
    outer = nic / nic_bandwidth(routing.cluster)[0]
    facts = fabric.tiers()
    return own + facts.exchange_start.value + smooth_sum(inner, outer, facts.overlap.value)


def _copies(routing: Routing, copies: str) -> float:
    """Copies of a token sent, own rank included."""
    return routing.top_k if copies == "expert" else touched(routing.place.ranks, routing.top_k)


def _outside(routing: Routing, copies: str) -> float:
    """Copies of a token that leave its NVLink domain; once per domain where ranks share copies."""
    domains = routing.place.ranks / routing.place.per_domain
    sent = routing.top_k if copies == "expert" else touched(domains, routing.top_k)
    return sent * (1 - 1 / domains)


def _library(routing: Routing) -> str:
    facts = fabric.experts()
    kind = "rack" if routing.cluster.gpus_per_domain > routing.cluster.gpus_per_host else "node"
    mode = "low_latency" if routing.low_latency else "throughput"
    name = routing.library or facts.default[routing.framework][kind][mode]
    if name not in facts.libraries:
        raise BadInput([unknown("library", name, facts.libraries)])
    return name


def _exchange(
    library: str, phase: Phase, payload: str, cluster: Cluster
) -> tuple[Exchange, Evidence]:
    """Constants of the nearest measured system and payload."""
    facts, system = fabric.experts(), cluster.chip.tables
    systems = facts.libraries[library].phases
    near = [system, *facts.nearest.get(system, ()), *systems]
    name = next(each for each in near if each in systems)
    payloads = systems[name][phase]
    bytes_ = facts.payload
    close = min(payloads, key=lambda each: abs(bytes_[each] - bytes_[payload]))
    lent = "" if name == system else f", lent to {system}"
    other = "" if close == payload else f", {payload} by its bytes"
    return payloads[close], Evidence("measured", f"{name} {library} {phase} {close}{lent}{other}")
