"""A measured run against what to expect: which sizes are slow, by how much, and the likely cause.

Each cause is a machine that lacks something; the likely one is the machine whose expectation lies
nearest to the measured large messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from racktwin.hardware import Place
from racktwin.network.curve import Array
from racktwin.network.expectation import Expectation, Question, expect
from racktwin.network.nccl_log import Log

SMALL, LARGE = 64 << 10, 64 << 20  # bytes up to which start-up counts, from which bandwidth does
CLEARER = 0.5  # of the distance (log of the ratio) that a cause must explain
Changed = Callable[[Question], Question | None]


class Judged(msgspec.Struct, frozen=True):
    """A size of a run. size: bytes; measured, expected, low, high: s.

    slower: measured over expected, a ratio; verdict: 'as expected', 'fast' or 'slow'.
    """

    size: float
    measured: float
    expected: float
    low: float
    high: float
    slower: float
    verdict: str
    cause: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """A run and its judgement; causes: what fits large messages, nearest first, with its ratio."""

    expectation: Expectation
    log: Log
    lines: tuple[Judged, ...]
    causes: tuple[tuple[str, float], ...]


def compare(question: Question, log: Log) -> Comparison:
    """Judge every line of a run by the expectation of its question."""
    size = np.array([line.size for line in log.lines])
    measured = np.array([line.seconds for line in log.lines])
    found = expect(question, size)
    causes = _causes(question, size, measured, found)
    likely = causes[0][0] if causes else ""
    lines = []
    for at, line in enumerate(log.lines):
        slow, fast = measured[at] > found.high[at], measured[at] < found.low[at]
        cause = ""
        if slow:
            cause = likely if line.size >= LARGE else _small(line.size, likely)
        elif measured[at] < found.bound[at]:
            cause = "faster than the links allow: fewer ranks, another size or another machine"
        lines.append(
            Judged(
                line.size,
                line.seconds,
                float(found.calibrated[at]),
                float(found.low[at]),
                float(found.high[at]),
                float(measured[at] / found.calibrated[at]),
                "slow" if slow else "fast" if fast else "as expected",
                cause,
            )
        )
    return Comparison(found, log, tuple(lines), tuple(causes))


def _small(size: float, likely: str) -> str:
    if size <= SMALL:
        return "latency of small messages: LL or LL128 off, CPU frequency, affinity, a busy NIC"
    return likely or "between latency and bandwidth: protocol or chunk size"


def _causes(
    question: Question, size: Array, measured: Array, found: Expectation
) -> list[tuple[str, float]]:
    """Machines that explain the large messages better than the whole one does."""
    large = size >= LARGE
    if not large.any():
        return []
    whole = _distance(measured[large], found.calibrated[large])
    if np.median(measured[large] / found.high[large]) <= 1:
        return []
    fitting = []
    for name, change in SUSPECTS.items():
        changed = change(question)
        if changed is None:
            continue
        time = expect(changed, size[large]).calibrated
        away = _distance(measured[large], time)
        if away <= whole * CLEARER:
            fitting.append((away, name, float(np.median(measured[large] / time))))
    unknown = [("none of the known causes fits; look at clocks, PCIe, IOMMU and ACS", math.nan)]
    return [(name, ratio) for _, name, ratio in sorted(fitting)] or unknown


def _distance(measured: Array, time: Array) -> float:
    """Mean distance of the logs, dimensionless."""
    return float(np.mean(np.abs(np.log(measured / time))))


def _with(question: Question, **changes: object) -> Question:
    way = msgspec.structs.replace(question.way, **changes)
    return msgspec.structs.replace(question, way=way)


def _ring(question: Question) -> Question | None:
    """NCCL took rings where the switch would have reduced."""
    if question.operation != "all_reduce" or question.way.algorithm:
        return None
    return _with(question, algorithm="ring", sharp=False)


def _tree(question: Question) -> Question | None:
    if question.operation != "all_reduce" or question.way.algorithm:
        return None
    return _with(question, algorithm="tree", sharp=False)


def _no_sharp(question: Question) -> Question | None:
    return _with(question, sharp=False) if question.way.sharp else None


def _nic_share(question: Question, share: float) -> Question | None:
    if question.place.domains < 2:
        return None
    way = question.way
    together = max(way.nic, way.domain) * share
    return _with(question, nic=way.nic * share, domain=together, port=way.port * share)


def _half_of_nics(question: Question) -> Question | None:
    return _nic_share(question, 1 / 2)


def _lost_plane(question: Question) -> Question | None:
    """One of the parts that a port is made of is gone, on every NIC."""
    planes = question.cluster.fabric.switch.planes
    return _nic_share(question, 1 - 1 / planes) if planes > 1 else None


def _lost_nic(question: Question) -> Question | None:
    """One of the NICs of a host is gone, the others carry its traffic."""
    count = question.place.per_host
    return _nic_share(question, 1 - 1 / count) if count > 1 else None


def _over_nics(question: Question) -> Question | None:
    """NVLink between hosts is not used (MNNVL off): every host is a domain of its own."""
    place = question.place
    if place.per_domain == place.per_host or place.hosts < 2:
        return None
    apart = Place(place.ranks, place.per_host, place.per_host)
    return msgspec.structs.replace(question, place=apart)


def _lost_chip(question: Question) -> Question | None:
    rack = question.cluster.rack
    return _nvlink_share(question, 1 / int(rack.switches or rack.host.switches or 1))


def _lost_tray(question: Question) -> Question | None:
    trays = int(question.cluster.rack.trays)
    return _nvlink_share(question, 1 / trays) if trays > 1 else None


def _nvlink_share(question: Question, lost: float) -> Question | None:
    if lost >= 1 or question.place.per_domain < 2:
        return None
    return _with(question, nvlink=question.way.nvlink * (1 - lost))


SUSPECTS: dict[str, Changed] = {
    "rings instead of the reducing switch (NCCL_NVLS_ENABLE, IMEX, fabric manager)": _ring,
    "trees instead of rings or switches (NCCL_ALGO)": _tree,
    "no SHARP between domains (NCCL_COLLNET_ENABLE, aggregation manager)": _no_sharp,
    "one plane of the NICs lost": _lost_plane,
    "one NIC (rail) of a host lost": _lost_nic,
    "half of the NIC bandwidth (two planes, one port of two, or half of the rails)": _half_of_nics,
    "hosts joined by NICs instead of NVLink (MNNVL off: NCCL_MNNVL_ENABLE, IMEX)": _over_nics,
    "one NVLink switch chip lost": _lost_chip,
    "one NVLink switch tray lost": _lost_tray,
}
