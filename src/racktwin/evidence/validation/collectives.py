"""Published collectives, and token exchanges of experts, against what `network` says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec

from racktwin import network
from racktwin.evidence import data
from racktwin.evidence.condition import number
from racktwin.evidence.table_error import TableError, table_error
from racktwin.evidence.validation.collective_settings import settings
from racktwin.evidence.validation.held_size import held_curve, held_exchange
from racktwin.evidence.validation.point import (
    Held,
    Point,
    Track,
    Validation,
    Value,
    cell,
    positive,
    untracked,
)
from racktwin.evidence.validation.sweep import Form, Row, sweep
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster, Place, cluster
from racktwin.kernels.priced import Priced
from racktwin.network.exchange import copies_sent
from racktwin.network.fabric import Framework
from racktwin.network.volume import OPERATIONS, Operation, wire_share
from racktwin.network.way import USUAL, Way

ADDED = ("predicted_us", "predicted_busbw_GBps", "evidence", "reason")
SIZES = ("bytes_or_tokens", "bytes")
DEVICES = ("system", "gpu", "device")
FORM = Form(
    set="collectives",
    shipped="collectives.csv.gz",
    needed=("op",),
    known=(
        *("date", "system", "gpu", "device", "n_gpus", "num_gpus", "op", "dtype", *SIZES),
        *("latency_us", "algbw_GBps", "busbw_GBps", "other_bw", "transport", "settings"),
        *("primary_or_secondary", "source", "notes"),
    ),
    added=ADDED,
    measured=("latency_us", "busbw_GBps"),
    by=("chip", "operation"),
)
MORE = ("collectives_nccl_aiconfigurator.csv.gz", "exchanges.csv.gz")
SAME = (*SIZES, "dtype", "transport", "settings")  # columns of a configuration
MICRO, GIGA = 1e6, 1e-9
MOST_RANKS = 100_000
CONTRADICTS = 1.25  # ratio from which a row's time and bandwidth cannot both hold
MOST_BYTES = 1e15
SUFFIXED = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kmgt])(?:i?b)?", re.IGNORECASE)  # '256M', '1GB'
POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}  # of 1,024, as nccl-tests reads them
TOKENS = re.compile(r"(\d{1,9}) tok(?:ens/rank)? x (\d{1,6}) top(\d{1,4})(?: of (\d{1,6}))?")
NODES = re.compile(r"\b(\d{1,5}) nodes\b")
SYSTEM = re.compile(r"systems/data/([a-z0-9_]+)/")
PAYLOADS = {"bf16": 2.0, "fp8": 1 + 4 / 128, "nvfp4": 0.5 + 1 / 16}  # bytes a value, scales in
DEEPEP = {"dispatch": "fp8", "combine": "bf16"}  # what its benchmarks send


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A row in the terms of `network`: on `ranks` GPUs; noted: what of it is inferred."""

    name: str
    where: Cluster
    ranks: int
    place: Place
    way: Way
    noted: tuple[str, ...] = ()


def collectives(
    points: str | Path | None = None, track: Track[tuple[int, Row]] = untracked
) -> Validation:
    """Every row of a table of collectives; both published ones where none is given."""
    found = sweep(FORM, points, answer, track)
    found = msgspec.structs.replace(found, held="left out")
    if points is not None:
        return found
    more = [
        sweep(msgspec.structs.replace(FORM, shipped=each), None, answer, track) for each in MORE
    ]
    header = tuple(dict.fromkeys(name for each in (found, *more) for name in each.header))
    rows = tuple(point for each in (found, *more) for point in each.points)
    return msgspec.structs.replace(found, header=header, points=rows)


def answer(given: Row, line: int) -> Point:
    """The prediction of one row."""
    row = _asked(given)
    held, size_said = None, ""
    if row.name in OPERATIONS:
        size, size_said = _size(given)
        run = getattr(network, row.name)
        price = run(size, row.place, row.where, way=row.way)
        seconds = float(price.seconds)
        held = held_curve(row.where.chip.tables, row.name, row.ranks, size)
        if held and row.way != USUAL:
            held *= seconds / float(run(size, row.place, row.where).seconds)
        share = wire_share(_operation(row.name), row.ranks)
        busbw = GIGA * share * size / seconds if seconds else None
    else:
        price, held = _exchanged(given, row)
        seconds, busbw = float(price.seconds), None
    evidence = "; ".join(each for each in (str(price.evidence), *row.noted, size_said) if each)
    columns = {
        "predicted_us": cell(seconds * MICRO),
        "predicted_busbw_GBps": cell(busbw),
        "evidence": evidence,
        "reason": "",
    }
    return Point(
        line=line,
        cells=given,
        columns=columns,
        values=_values(given, _basis(row, price), (seconds * MICRO, busbw), held),
        traits={
            "chip": row.where.chip.name,
            "operation": row.name,
            "ranks": str(row.ranks),
            "evidence": price.evidence.kind,
        },
        configuration="|".join(
            (row.where.chip.name, row.name, f"{row.ranks}", *(given.get(c) or "" for c in SAME))
        ),
        evidence=evidence,
    )


def _basis(row: Asked, price: Priced) -> TableError | None:
    """Errors of what a price rests on: the table, a rule over rank counts, or several domains."""
    name = row.name
    if price.evidence.kind != "measured":
        name += " across domains" if row.place.domains > 1 else " by rule"
    return table_error("collectives", name, row.where.chip.name)


def _values(
    given: Row, band: TableError | None, found: tuple[float, float | None], held: float | None
) -> tuple[Value, ...]:
    """The time, us; the bus bandwidth, GB/s, where no trusted time says the same already.

    held: the time without the row's own size, us.
    """
    time, busbw = found
    measured, rate = positive(given, "latency_us"), positive(given, "busbw_GBps")
    doubt = ""
    if measured and rate and busbw is not None:
        said = rate * measured / (busbw * time)  # bytes over bytes
        if not 1 / CONTRADICTS < said < CONTRADICTS:
            doubt = f"its bus bandwidth is {said:.1f} times what its bytes and time give"
    low, high = (band.low, band.high) if band else (None, None)
    without = None
    if held is not None:
        without = Held(held, low and held * low, high and held * high)
    values = [
        Value(
            figure="time",
            value=time,
            low=low and time * low,
            high=high and time * high,
            measured=measured,
            held=without,
            doubt=doubt,
        )
    ]
    if busbw is not None and (doubt or not measured):
        ends = (high and busbw / high, low and busbw / low)
        values.append(Value(figure="busbw", value=busbw, low=ends[0], high=ends[1], measured=rate))
    return tuple(values)


def _asked(given: Row) -> Asked:
    findings: list[Finding] = []
    noted: list[str] = []
    name = _name(given.get("op") or "", findings)
    where = _where(given, findings, noted)
    ranks = _ranks(given, where, findings, noted)
    if findings or where is None:
        raise BadInput(findings)
    said = settings(given, name, ranks, where)
    return Asked(
        name=name,
        where=where,
        ranks=ranks,
        place=said.place,
        way=said.way,
        noted=(*noted, *said.noted),
    )


def _name(text: str, findings: list[Finding]) -> str:
    """'all_reduce' or another operation, else the words of a token exchange."""
    said = re.sub(r"[\s-]+", "_", text.strip().lower())
    said = {"alltoall": "all_to_all", "allreduce": "all_reduce", "allgather": "all_gather"}.get(
        said, said
    )
    if said in OPERATIONS:
        return said
    if (found := re.search(r"dispatch|combine", said)) and "/" not in said:
        return found[0]
    findings.append(unknown("op", text[:60], (*OPERATIONS, "dispatch", "combine")))
    return said


def _where(given: Row, findings: list[Finding], noted: list[str]) -> Cluster | None:
    texts = [(given.get(name) or "").strip() for name in DEVICES]
    found = SYSTEM.search(given.get("source") or "")
    names = data.load("names")
    for text in texts:
        for pattern, name in names["devices"].items():
            if re.search(pattern, text, re.IGNORECASE):
                return _cluster(name)
    if not any(texts) and found and found[1] in names["systems"]:
        noted.append(f"device empty: {found[1]} from the source")
        return _cluster(names["systems"][found[1]])
    said = next((each for each in texts if each), "")
    message = f"{said[:60]!r} is no GPU of the catalog" if said else "is empty"
    findings.append(Finding("device" if "device" in given else "gpu", message))
    return None


@cache
def _cluster(name: str) -> Cluster:
    return cluster(name)


def _ranks(given: Row, where: Cluster | None, findings: list[Finding], noted: list[str]) -> int:
    column = "num_gpus" if "num_gpus" in given and not given.get("n_gpus") else "n_gpus"
    text = (given.get(column) or "").strip()
    value = number(text) if text else None
    nodes = NODES.search(given.get("transport") or "")
    if not text and nodes and where is not None:
        value = float(int(nodes[1]) * where.gpus_per_host)
        noted.append(f"{column} empty: {value:.0f} from {nodes[0]!r}")
    if value is None or not 1 <= value <= MOST_RANKS or value != int(value):
        message = f"{text[:20]!r} is no number of GPUs" if text else "is empty"
        findings.append(Finding(column, message))
        return 0
    return int(value)


def _size(given: Row) -> tuple[float, str]:
    """Bytes of a collective, and how they were read where that is no plain number.

    Words as in '17 GB', counts of tokens and ranges are refused.
    """
    text = next(((given.get(name) or "").strip() for name in SIZES if given.get(name)), "")
    value, said = number(text), ""
    if found := SUFFIXED.fullmatch(text):
        value = float(found[1]) * 1024 ** POWERS[found[2].lower()]
        said = f"{text!r} read as {value:.0f} bytes, as nccl-tests counts"
    if value is None or not 0 < value <= MOST_BYTES:
        message = f"{text[:30]!r} is no number of bytes" if text else "is empty"
        raise BadInput([Finding("bytes_or_tokens" if SIZES[0] in given else "bytes", message)])
    return value, said


def _operation(name: str) -> Operation:
    return next(each for each in get_args(Operation) if each == name)


def _exchanged(given: Row, row: Asked) -> tuple[Priced, float | None]:
    """Dispatch or combine of the tokens a row counts; and without its own size, us."""
    text = (given.get(SIZES[0]) or "").strip()
    found = TOKENS.match(text)
    said = f"{given.get('op')} {given.get('dtype')} {given.get('transport')}".lower()
    usual = DEEPEP[row.name] if "deepep" in said else ""
    payload = next((each for each in PAYLOADS if each in said), usual)
    findings = []
    if not found:
        findings.append(Finding(SIZES[0], f"{text[:40]!r} is not 'N tok x HIDDEN topK of EXPERTS'"))
    if not payload:
        findings.append(Finding("dtype", f"names none of {', '.join(PAYLOADS)}"))
    if findings or not found:
        raise BadInput(findings)
    tokens, hidden, top_k, experts = (int(each or 0) for each in found.groups())
    priced = network.dispatch if row.name == "dispatch" else network.combine
    library = _library(said)
    price = priced(
        tokens,
        hidden=hidden,
        bytes_per_value=PAYLOADS[payload],
        top_k=top_k,
        place=row.place,
        cluster=row.where,
        framework=_framework(said),
        experts=experts,
        library=library,
        imbalance=1.0 if "deepep" in said else _spread(row.ranks, top_k),
    )
    size = f"{tokens}x{hidden} top{top_k}" + (f" of {experts}" if "deepep" in said else "")
    return price, held_exchange(price.evidence.name, row.where.chip.tables, row.ranks, size)


def _spread(ranks: int, top_k: int) -> float:
    """Copies of a token where a benchmark spreads them as far as it can, over uniform ones."""
    if ranks < 2:
        return 1.0
    uniform = copies_sent("rank", ranks, top_k)
    return copies_sent("rank", ranks, top_k, balanced=True) / uniform


def _framework(said: str) -> Framework:
    return "sglang" if "deepep" in said else "trtllm"


def _library(said: str) -> str:
    """The library a row names; '' for the engine's own."""
    if "deepep" not in said:
        sides = {"one": "nvlink_one_sided", "two": "nvlink_two_sided"}
        found = re.search(r"(one|two)[- ]?sided", said)
        return sides[found[1]] if found else ""
    return "deepep_low_latency" if "low-latency" in said else "deepep_normal"
