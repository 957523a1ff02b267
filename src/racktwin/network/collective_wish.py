"""A question about a collective in words, and what it means; everything that is wrong at once."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place, cluster
from racktwin.network.curve import Array
from racktwin.network.expectation import ASKED, Question, check
from racktwin.network.fault import read_faults
from racktwin.network.left import left
from racktwin.network.nccl_log import Log
from racktwin.network.routing import ROUTINGS, Routing
from racktwin.network.sharp import refusal
from racktwin.network.topology import Topology
from racktwin.network.way import Way
from racktwin.units import Bytes

TABLE: Array = 2.0 ** np.arange(
    10.0, 35.0
)  # bytes, 1 KiB to 16 GiB, as nccl-tests -b 1K -e 16G -f 2
NCCL_TESTS = {"alltoall": "all_to_all", "sendrecv": "send_recv"}


@dataclass(frozen=True, kw_only=True)
class Wish:
    """How a collective is to be run, as typed; None means nothing was said.

    Parameters
    ----------
    gpus
        Ranks, one GPU each, side by side; the whole cluster by default.
    stride
        Ranks sit on every n-th GPU: 72 puts one into each NVL72 rack.
    bytes
        Size as nccl-tests counts it: 1GB, 256MiB.
    algorithm
        Hold NCCL to one: ring, tree, nvls, nvls-tree, collnet-direct, collnet-chain, pat.
    sharp
        Reduction in the switches between NVLink domains: on or off; by default as the cluster's
        file says.
    routing
        Between switches: adaptive, static (hashed flows), spray, rail (adaptive, PXN).
    fail
        What is broken: spine:3,plane:leaf7/12/2,slow:rack0/host3/1@50%.
    dtype
        Of the values, for what switches can add: float32, bfloat16, fp8.
    model
        Whose experts dispatch and combine exchange tokens between.
    tokens
        Of a rank, for dispatch and combine; a table without.
    payload
        Of a value on the wire, for dispatch and combine: bf16, fp8, nvfp4.
    framework
        Whose library exchanges the tokens: trtllm, sglang, vllm.
    """

    gpus: int | None = None
    stride: int = 1
    bytes: str | None = None
    algorithm: str | None = None
    sharp: str | None = None
    routing: str = "adaptive"
    fail: str | None = None
    dtype: str = "float32"
    model: str | None = None
    tokens: int | None = None
    payload: str = "bf16"
    framework: str = "trtllm"


def asked(
    operation: str, on: str, wish: Wish, log: Log | None = None, *, table: bool = False
) -> tuple[Question, Array]:
    """The question and its sizes, bytes, those of nccl-tests for a table.

    A log gives the ranks where none are given.
    """
    where = cluster(on)
    operation = operation.replace("-", "_").removesuffix("_perf")
    operation = NCCL_TESTS.get(operation, operation)
    found = _faults(wish, where, operation, log)
    ranks = wish.gpus or (log.ranks if log else 0) or where.gpus // max(wish.stride, 1)
    dtype = log.lines[0].dtype if log else wish.dtype
    place = where.place(max(ranks, 1), max(wish.stride, 1))
    question = Question(
        operation=operation,
        place=place,
        cluster=where,
        way=Way(
            algorithm=(wish.algorithm or "").replace("-", "_"), sharp=_sharp(wish, where, place)
        ),
        dtype={"float": "float32", "half": "float16", "double": "float64"}.get(dtype, dtype),
    )
    size = TABLE
    try:
        size = sizes(None if table else wish.bytes, where)
    except BadInput as bad:
        found += bad.findings
    try:
        check(question)
    except BadInput as bad:
        found += bad.findings
    if found:
        raise BadInput(found, "collective")
    return _with_faults(question, wish), size


def _sharp(wish: Wish, where: Cluster, place: Place) -> bool:
    """Whether switches reduce: as asked, or as the cluster says where they can."""
    if wish.sharp is None:
        return where.fabric.sharp and not refusal(place, where, dtype=wish.dtype)
    return wish.sharp == "on"


def _with_faults(question: Question, wish: Wish) -> Question:
    """The way over what faults and routing leave of the links."""
    if not wish.fail and wish.routing == "adaptive":
        return question
    where, place = question.cluster, question.place
    faults = read_faults(wish.fail or "", Topology(where))
    gpus = np.arange(place.ranks) * wish.stride
    routing: Routing = wish.routing  # type: ignore[assignment]
    rest = left(question.operation, gpus, where, routing=routing, faults=faults)
    way = msgspec.structs.replace(question.way, nvlink=rest.nvlink, nic=rest.nic)
    said = ", ".join(filter(None, [f"{routing} routing", *map(str, faults)]))
    return msgspec.structs.replace(question, way=way, condition=said)


def _faults(wish: Wish, where: Cluster, operation: str, log: Log | None) -> list[Finding]:
    found = []
    if wish.sharp not in (None, "on", "off"):
        found.append(Finding("--sharp", f"expected on or off, found {str(wish.sharp)[:40]!r}"))
    if wish.routing not in ROUTINGS:
        found.append(unknown("--routing", wish.routing, ROUTINGS))
    if wish.stride < 1:
        found.append(Finding("--stride", f"expected 1 or more, found {wish.stride}"))
    if wish.gpus is not None and wish.gpus * max(wish.stride, 1) > where.gpus:
        wide = f", every {wish.stride}th" if wish.stride > 1 else ""
        message = f"{where.name} has {where.gpus:,} GPUs, found {wish.gpus:,}{wide}"
        found.append(Finding("--gpus", message))
    if log is not None:
        if log.operation and operation in ASKED and log.operation != operation:
            message = f"the log is of {log.operation.replace('_', '-')}"
            found.append(
                Finding("OPERATION", f"{message}, asked about {operation.replace('_', '-')}")
            )
        if log.ranks and wish.gpus and log.ranks != wish.gpus:
            found.append(Finding("--gpus", f"the log names {log.ranks} ranks, found {wish.gpus}"))
    return found


def sizes(text: str | None, where: Cluster) -> Array:
    """The bytes asked for; nccl-tests' usual ones where none are given."""
    if text is None:
        return TABLE
    size = float(Bytes.parse(text, "--bytes"))
    if size < 1:
        raise BadInput([Finding("--bytes", f"expected 1 B or more, found {text!r}")])
    if size > where.chip.memory_usable:
        room = f"a {where.chip.title} has {Bytes(where.chip.memory_usable)}"
        raise BadInput([Finding("--bytes", f"{text} do not fit: {room}")])
    return np.array([size], np.float64)
