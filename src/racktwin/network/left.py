"""What faults and a routing leave of the links that a collective's ranks really use."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster
from racktwin.network.domain import LIKE
from racktwin.network.fault import Fault
from racktwin.network.health import Health
from racktwin.network.links import BETWEEN, Links
from racktwin.network.load import step
from racktwin.network.problem import Floats, Ints
from racktwin.network.routing import Routing, efficiency
from racktwin.network.tier import NIC_IN, NIC_OUT, NVLINK_IN, NVLINK_OUT
from racktwin.network.topology import Topology
from racktwin.network.volume import OPERATIONS, Operation

NVLINK = (NVLINK_OUT, NVLINK_IN)
NICS = (NIC_OUT, NIC_IN)
SHOWN = 4  # ranks that are named
SEED = 0  # of the hashes of static routing
DIGITS = 12  # of a share, so that a whole fabric has all of it


class Left(msgspec.Struct, frozen=True):
    """Shares of the rates that ranks have on a whole fabric without oversubscription, 0..1.

    nvlink: of the busiest GPU's NVLink; nic: of the busiest NIC or cable between switches; domain:
    of what the NVLink domain that has least can send out; port: of the busiest NIC alone.
    """

    nvlink: float = 1.0
    nic: float = 1.0
    domain: float = 1.0
    port: float = 1.0


def left(
    operation: str,
    gpus: Ints,
    cluster: Cluster,
    *,
    routing: Routing = "adaptive",
    faults: Sequence[Fault] = (),
) -> Left:
    """Compare the busiest links of `operation` among `gpus` with whole NVLinks and NICs.

    BadInput names ranks that are cut off from the others.
    """
    like = operation if operation in OPERATIONS else "all_gather"  # a message: one ring's worth
    moves: Operation = LIKE.get(like, like)
    topology = Topology(cluster)
    health = Health(topology, faults)
    if len(np.unique(topology.domain_of(gpus))) > 1:
        _refuse_cut(health, gpus)
    near, injected, _ = _busiest(Links(Health(topology), "adaptive"), moves, gpus)
    if routing != "adaptive":  # which may send over NVLink what leaves for another rail
        near = _busiest(Links(Health(topology), routing), moves, gpus)[0]
    worse, *outside = _busiest(Links(health, routing), moves, gpus)
    pairs = ((near, worse), (injected, max(outside)), (injected, outside[0]))
    shares = [min(1.0, a / b) if a > 0 and b > 0 else 1.0 for a, b in pairs]
    nvlink, nic, port = (round(each, DIGITS) for each in shares)
    together = min(_domain(health, gpus), _uplinks(health, moves, gpus, injected))
    return Left(nvlink, nic, max(nic, together), port)


def _uplinks(health: Health, moves: Operation, gpus: Ints, injected: float) -> float:
    """What uplinks leave of an all-to-all where a domain has no way around those of its leaves."""
    topology = health.topology
    if moves != "all_to_all" or topology.fabric.layout != "single" or not topology.tree.up:
        return 1.0
    if topology.tree.down % (topology.domain // topology.host.gpus * topology.host.nics):
        return 1.0
    between = _busiest(Links(health, "adaptive"), moves, gpus)[2]
    return min(1.0, round(injected / between, DIGITS)) if between else 1.0


def _domain(health: Health, gpus: Ints) -> float:
    """What the NICs of a domain carry together, over whole ones of the domain with fewest ranks."""
    topology, shares = health.topology, health.nics()
    lanes = [
        shares[topology.nic_of(gpus, lane) * topology.planes + lane % topology.planes]
        for lane in range(topology.lanes)
    ]
    _, domain, ranks = np.unique(topology.domain_of(gpus), return_inverse=True, return_counts=True)
    together = np.bincount(domain, np.mean(lanes, axis=0))
    return float(min(1.0, together.min() / ranks.min()))


def _refuse_cut(health: Health, gpus: Ints) -> None:
    ranks = {int(gpu): rank for rank, gpu in enumerate(gpus)}
    lost = {gpu: why for gpu, why in health.cut().items() if gpu in ranks}
    if not lost:
        return
    named = [
        f"{ranks[gpu]} ({health.topology.gpu_name(gpu)}, {why})"
        for gpu, why in list(lost.items())[:SHOWN]
    ]
    more = f" and {len(lost) - SHOWN:,} more" if len(lost) > SHOWN else ""
    which = "rank" if len(lost) == 1 else "ranks"
    message = f"cuts {which} {', '.join(named)}{more} off the other NVLink domains"
    raise BadInput([Finding("--fail", message)], "collective")


def _busiest(links: Links, operation: Operation, gpus: Ints) -> tuple[float, float, float]:
    """Seconds per byte of the fullest NVLink, NIC, and cable between switches.

    What adaptive routing reaches of a cable counts as all of it, for NICs reach no more.
    """
    load = step(links, operation, gpus, 1.0, np.random.default_rng(SEED))
    line: Floats = links.line.copy()
    line[np.isin(links.tier, BETWEEN)] *= efficiency(links.routing, "many") / efficiency(
        "adaptive", "many"
    )
    used = load.shares > 0
    dead = np.flatnonzero(used & (line <= 0))
    if len(dead):
        name = links.name(int(dead[0]))
        raise BadInput([Finding("--fail", f"nothing is left of {name}")], "collective")
    time = np.zeros(len(line))
    time[used] = load.shares[used] * load.size / line[used]
    kinds = (NVLINK, NICS, BETWEEN)
    near, nic, between = (float(time[np.isin(links.tier, each)].max(initial=0.0)) for each in kinds)
    return near, nic, between
