"""MoE dispatch and combine: tokens to the ranks that hold their experts, and back."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.estimate import Evidence
from racktwin.finding import BadInput, unknown
from racktwin.hardware import Cluster, Place
from racktwin.kernels.priced import Priced
from racktwin.network import fabric
from racktwin.network.collective import moved
from racktwin.network.curve import Array, smooth_sum
from racktwin.network.exchange import Exchange, copies_sent
from racktwin.network.fabric import Framework, Library, Mode
from racktwin.network.hierarchy import nic_bandwidth
from racktwin.network.standing import standing
from racktwin.network.way import USUAL, Way

Phase = Literal["prepare", "dispatch", "combine"]


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """A layer's exchange of tokens.

    hidden: values per token; bytes_per_value: on the wire, scales included, B; top_k: experts per
    token; experts: routed experts over all ranks; place: the expert-parallel ranks; imbalance:
    bytes of the busiest rank over the mean, a ratio; way: what is left of the links.
    """

    hidden: int
    bytes_per_value: float
    top_k: int
    experts: int
    place: Place
    cluster: Cluster
    imbalance: float = 1.0
    way: Way = USUAL


def dispatch(
    tokens: npt.ArrayLike,
    *,
    hidden: int,
    bytes_per_value: float,
    top_k: int,
    place: Place,
    cluster: Cluster,
    framework: Framework,
    experts: int = 0,
    mode: Mode | None = None,
    library: str = "",
    imbalance: float = 1.0,
    way: Way | None = None,
) -> Priced:
    """Send tokens to their experts, with the 'prepare' step of libraries that have one.

    tokens: per rank, array of any shape; hidden: values per token; bytes_per_value: 2 for bf16,
    1.03 for block-scaled fp8, 0.56 for nvfp4, B; experts: routed experts over all ranks, which
    low-latency libraries poll one by one; mode: 'low_latency' or 'throughput', by default what the
    framework picks for that many tokens; library: one of catalog/fabrics/experts.yaml instead of
    the framework's own; imbalance: bytes of the busiest rank over the mean, a ratio; way: what is
    left of the links, by default all that the fabric has. Routing is uniform over the experts.
    """
    routing = Routing(
        hidden=hidden,
        bytes_per_value=bytes_per_value,
        top_k=top_k,
        experts=experts,
        place=place,
        cluster=cluster,
        imbalance=imbalance,
        way=standing("all_to_all", place, cluster) if way is None else way,
    )
    names = _libraries(routing.cluster, framework, mode, library)
    return _exchange(("prepare", "dispatch"), np.asarray(tokens, np.float64), routing, names)


def combine(
    tokens: npt.ArrayLike,
    *,
    hidden: int,
    bytes_per_value: float,
    top_k: int,
    place: Place,
    cluster: Cluster,
    framework: Framework,
    experts: int = 0,
    mode: Mode | None = None,
    library: str = "",
    imbalance: float = 1.0,
    way: Way | None = None,
) -> Priced:
    """Bring the experts' results of `tokens` tokens per rank home and add them.

    bytes_per_value: on the wire, B; imbalance: a ratio; all arguments as in `dispatch`.
    """
    routing = Routing(
        hidden=hidden,
        bytes_per_value=bytes_per_value,
        top_k=top_k,
        experts=experts,
        place=place,
        cluster=cluster,
        imbalance=imbalance,
        way=standing("all_to_all", place, cluster) if way is None else way,
    )
    names = _libraries(routing.cluster, framework, mode, library)
    return _exchange(("combine",), np.asarray(tokens, np.float64), routing, names)


def _libraries(
    cluster: Cluster, framework: Framework, mode: Mode | None, library: str
) -> tuple[str, ...]:
    """The library, or the one for few tokens and the one for many."""
    facts = fabric.experts()
    if library:
        if library not in facts.libraries:
            raise BadInput([unknown("library", library, facts.libraries)])
        return (library,)
    kind = "rack" if cluster.gpus_per_domain > cluster.gpus_per_host else "host"
    default = facts.default[framework][kind]
    names = [default[each] for each in ((mode,) if mode else ("low_latency", "throughput"))]
    return tuple(dict.fromkeys(names))


def _exchange(
    phases: tuple[Phase, ...], tokens: Array, routing: Routing, names: tuple[str, ...]
) -> Priced:
    few = _phases(phases, tokens, routing, names[0])
    most = fabric.experts().libraries[names[0]].tokens
    if len(names) == 1 or most is None or np.all(tokens <= most):
        return few
    many = _phases(phases, tokens, routing, names[1])
    time = np.where(tokens <= most, few.seconds, many.seconds)
    price = many if np.all(tokens > most) else few + many
    return Priced(time, many.flops, many.bytes, many.joules, price.evidence)


def _phases(phases: tuple[Phase, ...], tokens: Array, routing: Routing, name: str) -> Priced:
    library = fabric.experts().libraries[name]
    price = moved(0 * tokens, 0 * tokens, Evidence("formula", "no work"), routing.place)
    if routing.place.ranks < 2:
        return price
    for phase in phases:
        system, constants = _measured(library, phase, routing.cluster.chip.tables)
        if not constants:
            continue
        payload = _payload(constants, routing.bytes_per_value)
        lent = "" if system == routing.cluster.chip.tables else f" of {system}"
        evidence = Evidence("measured", f"{name} {phase} {payload}{lent}")
        price = price + _phase(phase, tokens, routing, library, constants[payload], evidence)
    return price


def _phase(
    phase: Phase,
    tokens: Array,
    routing: Routing,
    library: Library,
    constants: Exchange,
    evidence: Evidence,
) -> Priced:
    place, cluster = routing.place, routing.cluster
    size = 0.0 if phase == "prepare" else routing.hidden * routing.bytes_per_value
    sent = copies_sent(library.copies, place.ranks, routing.top_k)
    outside = copies_sent(library.copies, place.ranks / place.per_domain, routing.top_k)
    busiest = tokens * routing.imbalance
    nic = busiest * size * outside if place.domains > 1 else 0 * busiest
    start = constants.seconds(0.0, sent, size, place.per_domain, routing.experts)
    whole = constants.seconds(busiest, sent, size, place.per_domain, routing.experts)
    inner = (whole - start) / routing.way.nvlink
    if place.domains == 1:
        time = whole
        if routing.way.nvlink < 1:
            time, left = (
                start + inner,
                f"{evidence.name}, {routing.way.nvlink:.1%} of the links left",
            )
            evidence = Evidence("formula", left)
    else:
        far, said = nic_bandwidth(cluster, routing.way)
        begin = start + float(fabric.tiers().exchange_start)
        time = begin + smooth_sum(inner, nic / far, fabric.tiers().overlap)
        evidence = Evidence("formula", f"{evidence.name} over {said}")
    wire = busiest * size * sent
    line = cluster.nvlink * routing.way.nvlink, cluster.nic * routing.way.nic
    floor = np.maximum((wire - nic) / line[0], nic / line[1])
    return moved(wire, np.where(tokens > 0, np.maximum(time, floor), 0.0), evidence, place)


def _measured(library: Library, phase: Phase, system: str) -> tuple[str, dict[str, Exchange]]:
    """The nearest system whose table has this phase, and its constants by payload."""
    near = [system, *fabric.experts().nearest.get(system, []), *library.phases]
    for name in near:
        found = library.phases.get(name, {}).get(phase)
        if found:
            return name, found
    return "", {}


def _payload(constants: dict[str, Exchange], bytes_per_value: float) -> str:
    """The measured payload whose size is nearest."""
    size = fabric.experts().payload
    return min(constants, key=lambda each: abs(size[each] - bytes_per_value))
