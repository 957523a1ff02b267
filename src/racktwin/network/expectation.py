"""What to expect of a collective on a machine, and why: four estimates kept apart.

bound: no algorithm is faster. ideal: both tiers as a pipeline, at the bandwidth NCCL reaches.
calibrated: what NCCL was seen to do, the answer. nccl: what NCCL's own tuning model expects, which
decides the algorithm it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from racktwin.estimate import Evidence
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place
from racktwin.network import collective as priced
from racktwin.network import nccl, sharp, textbook
from racktwin.network.algorithm import ALL
from racktwin.network.bound import bound, smallest_domain
from racktwin.network.channels import Group, group
from racktwin.network.curve import Array
from racktwin.network.error import spread
from racktwin.network.nccl import Path
from racktwin.network.transfer import point_to_point
from racktwin.network.volume import OPERATIONS, Operation, least_share, wire_share
from racktwin.network.way import Way

SEND = "send_recv"
ASKED = (*OPERATIONS, SEND)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A collective on a group of GPUs, carried in some way.

    dtype: of its values. condition: what limits the links, in words; '' when nothing does.
    """

    operation: str
    place: Place
    cluster: Cluster
    way: Way = Way()
    dtype: str = "float32"
    condition: str = ""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """Estimates over sizes; all arrays are s, one value per size (bytes).

    low, high: 80 % interval of calibrated. ideal: None where there is one tier, or one way to send.
    nccl: None where NCCL has no choice. paths: algorithms and protocols the group can run;
    taken: index of the one NCCL takes; refused: why others cannot run. best: name and time of the
    quickest textbook algorithm by size.
    """

    question: Question
    size: Array
    calibrated: Array
    low: Array
    high: Array
    ideal: Array | None
    nccl: Array | None
    bound: Array
    evidence: Evidence
    paths: tuple[Path, ...]
    taken: Array
    refused: dict[str, str]
    best: tuple[tuple[str, float], ...]

    @property
    def share(self) -> float:
        """Bus bandwidth over algorithm bandwidth, as nccl-tests defines it; a ratio."""
        return bus_share(self.question.operation, self.question.place.ranks)

    @property
    def group(self) -> Group:
        """The ranks as NCCL sees them."""
        asked = self.question
        return group(asked.place, asked.cluster, asked.way)

    def path(self, index: int) -> Path | None:
        """What NCCL takes for the size of that index; None where it has no choice."""
        return self.paths[int(self.taken[index])] if self.paths else None

    def plans(self, index: int) -> list[tuple[float, Path]]:
        """NCCL's time, s, of each path for the size of that index, the quickest first.

        None is below the bound, whatever NCCL plans with.
        """
        operation: Operation = self.question.operation  # type: ignore[assignment]
        size, least = self.size[index], float(self.bound[index])
        times = [
            (max(float(each.seconds(operation, size, self.group)), least), each)
            for each in self.paths
        ]
        return sorted(times, key=lambda each: each[0])

    @property
    def binds(self) -> str:
        """Which links the bound is of."""
        place, cluster, way = self.question.place, self.question.cluster, self.question.way
        nvlink, nic = cluster.nvlink * way.nvlink, cluster.nic * max(way.nic, way.domain)
        near = f"NVLink of a GPU, {nvlink / 1e9:,.0f} GB/s each way"
        if place.domains == 1:
            return near
        inside = least_share("all_gather", place.per_domain) / nvlink
        outside = 1.0 / smallest_domain(place) / nic
        if self.question.operation == SEND:
            return f"the NIC of a GPU, {cluster.nic * way.nic / 1e9:,.4g} GB/s each way"
        if self.question.operation == "all_to_all" or outside > inside:
            if way.domain < 1:
                return f"what leaves an NVLink domain, {nic / 1e9:,.4g} GB/s a GPU each way"
            return f"the NIC of a GPU, {nic / 1e9:,.4g} GB/s each way"
        return near


def bus_share(operation: str, ranks: int) -> float:
    """nccl-tests' factor from algorithm to bus bandwidth, a ratio."""
    return 1.0 if operation == SEND else wire_share(operation, ranks)  # type: ignore[arg-type]


def check(question: Question) -> None:
    """BadInput with everything that cannot be."""
    found, way, place = [], question.way, question.place
    if question.operation not in ASKED:
        raise BadInput([unknown("operation", question.operation, ASKED)], "collective")
    if place.ranks < 2:
        found.append(Finding("--gpus", f"a collective needs 2 GPUs or more, found {place.ranks}"))
    if way.sharp and (why := sharp.refusal(place, question.cluster, dtype=question.dtype)):
        found.append(Finding("--sharp", f"on is not possible: {why}"))
    if way.algorithm and way.algorithm not in ALL:
        found.append(unknown("--algorithm", way.algorithm, ALL))
    elif way.algorithm and place.ranks > 1:
        seen = group(place, question.cluster, way)
        why = _refusal(way.algorithm, question.operation, seen)
        if why:
            found.append(Finding("--algorithm", f"{way.algorithm} is not possible here: {why}"))
    if found:
        raise BadInput(found, "collective")


def _refusal(algorithm: str, operation: str, seen: Group) -> str:
    if operation in (SEND, "all_to_all"):
        return "NCCL sends messages one by one and has no choice"
    return ALL[algorithm].refuses(operation, seen)  # type: ignore[arg-type]


def expect(question: Question, sizes: Sequence[float] | Array) -> Expectation:
    """The estimates for buffers of `sizes` bytes; BadInput where the question makes no sense."""
    check(question)
    size = np.asarray(sizes, np.float64)
    if question.operation == SEND:
        return _sent(question, size)
    operation: Operation = question.operation  # type: ignore[assignment]
    place, cluster, way = question.place, question.cluster, question.way
    price = getattr(priced, operation)(size, place, cluster, way=way)
    seen = group(place, cluster, way)
    paths = [] if operation == "all_to_all" else nccl.paths(operation, seen)
    paths = [each for each in paths if way.algorithm in ("", each.algorithm)]
    taken = nccl.chosen(operation, size, paths, seen) if paths else np.zeros(len(size), int)
    times = np.array([each.seconds(operation, size, seen) for each in paths])
    low, high = spread(price.seconds, operation, place, cluster, way)
    floor = bound(operation, size, place, cluster, way)
    book = textbook.seconds(operation, size, place, cluster, way)
    return Expectation(
        question=question,
        size=size,
        calibrated=price.seconds,
        low=np.maximum(low, floor),
        high=high,
        ideal=_ideal(operation, size, question),
        nccl=np.maximum(np.min(times, axis=0), floor) if paths else None,
        bound=floor,
        evidence=price.evidence,
        paths=tuple(paths),
        taken=taken,
        refused=_refused(operation, seen),
        best=tuple(
            min(((name, float(each[at])) for name, each in book.items()), key=lambda one: one[1])
            for at in range(len(size))
        ),
    )


def _ideal(operation: Operation, size: Array, question: Question) -> Array | None:
    """Both tiers as a pipeline; None in one domain, and where messages go one by one."""
    place, way = question.place, question.way
    if place.domains < 2 or operation == "all_to_all":
        return None
    best = msgspec.structs.replace(way, estimate="ideal", algorithm="")
    priced_so = getattr(priced, operation)(size, place, question.cluster, way=best)
    return np.asarray(priced_so.seconds)


def _refused(operation: Operation, seen: Group) -> dict[str, str]:
    if operation == "all_to_all":
        return {}
    return {name: why for name, each in ALL.items() if (why := each.refuses(operation, seen))}


def _sent(question: Question, size: Array) -> Expectation:
    """From one GPU to the next."""
    place, cluster, way = question.place, question.cluster, question.way
    pair = place if place.domains > 1 else Place(2, min(2, place.per_host), 2)
    price = point_to_point(size, pair, cluster, way)
    line = cluster.nic * way.nic if pair.domains > 1 else cluster.nvlink * way.nvlink
    low, high = spread(price.seconds, "all_to_all", pair, cluster, way)
    begin = float(point_to_point(1.0, pair, cluster, way).seconds)
    best = np.minimum(price.seconds, begin + size / line)
    return Expectation(
        question=question,
        size=size,
        calibrated=price.seconds,
        low=np.maximum(low, size / line),
        high=high,
        ideal=None,
        nccl=None,
        bound=size / line,
        evidence=price.evidence,
        paths=(),
        taken=np.zeros(len(size), int),
        refused={},
        best=tuple(("send", float(each)) for each in best),
    )
