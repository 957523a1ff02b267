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
from racktwin.network.tier import NVLINK_IN, NVLINK_OUT
from racktwin.network.topology import Topology
from racktwin.network.volume import OPERATIONS, Operation

NVLINK = (NVLINK_OUT, NVLINK_IN)
SHOWN = 4  # ranks that are named
SEED = 0  # of the hashes of static routing


class Left(msgspec.Struct, frozen=True):
    """Shares of the rates that a whole fabric with adaptive routing gives, 0..1.

    nvlink: of the busiest GPU's NVLink; nic: of the busiest NIC or cable between switches.
    """

    nvlink: float = 1.0
    nic: float = 1.0


def left(
    operation: str,
    gpus: Ints,
    cluster: Cluster,
    *,
    routing: Routing = "adaptive",
    faults: Sequence[Fault] = (),
) -> Left:
    """Compare the busiest links of `operation` among `gpus` with those of a whole fabric.

    BadInput names ranks that are cut off from the others.
    """
    like = operation if operation in OPERATIONS else "all_gather"  # a message: one ring's worth
    moves: Operation = LIKE.get(like, like)
    topology = Topology(cluster)
    health = Health(topology, faults)
    if len(np.unique(topology.domain_of(gpus))) > 1:
        _refuse_cut(health, gpus)
    whole = _busiest(Links(Health(topology), "adaptive"), moves, gpus)
    hurt = _busiest(Links(health, routing), moves, gpus)
    shares = [min(1.0, a / b) if b > 0 else 1.0 for a, b in zip(whole, hurt, strict=True)]
    return Left(*shares)


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


def _busiest(links: Links, operation: Operation, gpus: Ints) -> tuple[float, float]:
    """Seconds per byte of the fullest NVLink, and of the fullest link of the fabric."""
    load = step(links, operation, gpus, 1.0, np.random.default_rng(SEED))
    line: Floats = links.line.copy()
    line[np.isin(links.tier, BETWEEN)] *= efficiency(links.routing, "many")
    used = load.shares > 0
    dead = np.flatnonzero(used & (line <= 0))
    if len(dead):
        name = links.name(int(dead[0]))
        raise BadInput([Finding("--fail", f"nothing is left of {name}")], "collective")
    time = np.zeros(len(line))
    time[used] = load.shares[used] * load.size / line[used]
    near = np.isin(links.tier, NVLINK)
    return float(time[near].max(initial=0.0)), float(time[~near].max(initial=0.0))
