"""What a typed question about a collective means; everything that is wrong with it at once."""

from __future__ import annotations

import msgspec
import numpy as np

from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place
from racktwin.network import dtype as dtypes
from racktwin.network import wish_check
from racktwin.network.collective_wish import Wish
from racktwin.network.curve import Array
from racktwin.network.expectation import ASKED, Question, check
from racktwin.network.fault import Fault
from racktwin.network.left import left
from racktwin.network.nccl_log import Log
from racktwin.network.routing import Routing
from racktwin.network.sharp import refusal
from racktwin.network.way import Way
from racktwin.units import Bytes

TABLE: Array = 2.0 ** np.arange(
    10.0, 35.0
)  # bytes, 1 KiB to 16 GiB, as nccl-tests -b 1K -e 16G -f 2
NCCL_TESTS = {"alltoall": "all_to_all", "sendrecv": "send_recv"}


def asked(
    operation: str, on: str, wish: Wish, log: Log | None = None, *, table: bool = False
) -> tuple[Question, Array]:
    """The question and its sizes, bytes, those of nccl-tests for a table.

    A log gives the ranks where none are given.
    """
    operation = operation.replace("-", "_").removesuffix("_perf")
    operation = NCCL_TESTS.get(operation, operation)
    where, found = wish_check.located(on)
    if operation not in ASKED:
        found.append(unknown("operation", operation, ASKED))
    found += wish_check.strangers(wish, wish_check.OF_EXCHANGES, operation)
    found += wish_check.words(wish)
    found += wish_check.routing(wish)
    found += wish_check.seats(wish, where, log.ranks if log else 0)
    found += _alone(wish, table, log)
    found += _of_log(operation, wish, log) if log else ()
    faults: tuple[Fault, ...] = ()
    size = TABLE
    try:
        size = sizes(wish.bytes, where)
    except BadInput as bad:
        found += bad.findings
    if where is not None:
        faults, wrong = wish_check.broken(wish, where)
        found += wrong
        found += _impossible(operation, where, wish, log) if not found else ()
    if found or where is None:
        raise BadInput(found, "collective")
    return _over(_question(operation, where, wish, log), wish, faults), size


def _impossible(operation: str, where: Cluster, wish: Wish, log: Log | None) -> tuple[Finding, ...]:
    try:
        check(_question(operation, where, wish, log))
    except BadInput as bad:
        return bad.findings
    return ()


def _question(operation: str, where: Cluster, wish: Wish, log: Log | None) -> Question:
    """The question on a whole fabric."""
    logged = log.ranks if log else 0
    ranks = wish.gpus or logged or wish_check.room(wish, where)
    said = wish.dtype or (log.lines[0].dtype if log else "")
    dtype = dtypes.named(said) or "float32"
    place = where.place(ranks, wish.stride)
    return Question(
        operation=operation,
        place=place,
        cluster=where,
        way=Way(
            algorithm=(wish.algorithm or "").replace("-", "_"),
            sharp=_sharp(wish, where, place, dtype),
        ),
        dtype=dtype,
    )


def _sharp(wish: Wish, where: Cluster, place: Place, dtype: str) -> bool:
    """Whether switches reduce: as asked, or as the cluster says where they can."""
    if wish.sharp is None:
        return where.fabric.sharp and not refusal(place, where, dtype=dtype)
    return wish.sharp == "on"


def _over(question: Question, wish: Wish, faults: tuple[Fault, ...]) -> Question:
    """The way over what faults, routing and oversubscription leave of the links."""
    where, place = question.cluster, question.place
    gpus = np.arange(place.ranks) * wish.stride
    way, said = way_left(question.way, question.operation, gpus, where, wish.routing, faults)
    return msgspec.structs.replace(question, way=way, condition=said)


def way_left(
    way: Way,
    operation: str,
    gpus: np.ndarray[tuple[int], np.dtype[np.int64]],
    where: Cluster,
    routing: str,
    faults: tuple[Fault, ...],
) -> tuple[Way, str]:
    """A way over what is left of the links of `gpus`, and what limits them in words, or ''."""
    over = where.fabric.oversubscription
    if not faults and routing == "adaptive" and over <= 1:
        return way, ""
    kind: Routing = routing  # type: ignore[assignment]
    rest = left(operation, gpus, where, routing=kind, faults=faults)
    taper = f"{over:g}:1 oversubscribed" if over > 1 else ""
    said = ", ".join(filter(None, [f"{routing} routing", taper, *map(str, faults)]))
    return msgspec.structs.replace(way, **msgspec.structs.asdict(rest)), said


def _alone(wish: Wish, table: bool, log: Log | None) -> list[Finding]:
    """Flags that would give the sizes twice."""
    found = []
    if wish.bytes is not None and (table or log):
        other = "--table" if table else "--compare"
        found.append(Finding("--bytes", f"gives one size, {other} gives its own; leave one out"))
    if table and log:
        found.append(Finding("--table", "gives sizes, and so does --compare; leave one out"))
    return found


def _of_log(operation: str, wish: Wish, log: Log) -> list[Finding]:
    """What contradicts a log."""
    found = []
    if log.operation and operation in ASKED and log.operation != operation:
        said = f"the log is of {log.operation.replace('_', '-')}"
        found.append(Finding("operation", f"{said}, asked about {operation.replace('_', '-')}"))
    if log.ranks and wish.gpus is not None and log.ranks != wish.gpus:
        found.append(Finding("--gpus", f"the log names {log.ranks} ranks, found {wish.gpus}"))
    return found


def sizes(text: str | None, where: Cluster | None) -> Array:
    """The bytes asked for; nccl-tests' usual ones where none are given."""
    if text is None:
        return TABLE
    size = float(Bytes.parse(text, "--bytes"))
    if size < 1:
        raise BadInput([Finding("--bytes", f"expected 1 B or more, found {text!r}")])
    if where is not None and size > where.chip.memory_usable:
        room = f"a {where.chip.title} has {Bytes(where.chip.memory_usable)}"
        raise BadInput([Finding("--bytes", f"{text} do not fit: {room}")])
    return np.array([size], np.float64)
