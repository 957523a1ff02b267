"""Single figures of a machine: a GEMM, the memory's bandwidth, a throughput, the power drawn."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.evidence import data, inferencex, naming
from racktwin.evidence.amount import amount
from racktwin.evidence.condition import number
from racktwin.evidence.data import HERE
from racktwin.evidence.pooling import BATCH
from racktwin.evidence.table import rows
from racktwin.evidence.validation.point import Point, Value, cell, positive
from racktwin.evidence.validation.serving import Priced
from racktwin.evidence.validation.sweep import Row
from racktwin.finding import BadInput, Finding, nearest
from racktwin.hardware import Cluster, cluster
from racktwin.kernels.operators import Kernels
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

CUBE = re.compile(r"^(\d{2,6})\^3$")
LENGTHS = re.compile(r"^tp(\d{1,3}) (\d{1,6})/(\d{1,6})$")
REQUESTS = re.compile(r"(\d{1,7}) requests")
CLIENTS = re.compile(r"conc (\d{1,6})")
FORMATS = ("fp8", "nvfp4", "bf16")  # that are priced
TERA, KILO = 1e12, 1e3
STREAMED = 1e10  # bytes of a stream that no cache holds
KINDS = {"TFLOPS": "compute", "TB/s": "bandwidth", "tok/s total": "throughput", "kW": "power"}


class Answer(msgspec.Struct, frozen=True):
    """A figure: value in any unit, that of its row; what it rests on; what of it is inferred."""

    value: float
    evidence: str
    inferred: str = ""


def answer(given: Row, line: int, priced: Priced) -> Point:
    """The prediction of one row; BadInput where its figure cannot be computed."""
    where = _where(given)
    unit = given["unit"]
    kind = KINDS.get(unit, "")
    if not kind:
        close = nearest(unit, KINDS)
        hint = f"; is it {close!r}?" if close else f"; one of {', '.join(KINDS)}"
        raise BadInput([Finding("unit", f"{unit[:40]!r} is not predicted{hint}")])
    match kind:
        case "compute":
            found = _compute(given, where)
        case "bandwidth":
            found = _bandwidth(given, where)
        case "throughput":
            found = _throughput(given, where)
        case _:
            found = _power(given, priced)
    evidence = "; ".join(each for each in (found.evidence, found.inferred) if each)
    measured = positive(given, "value")
    return Point(
        line=line,
        cells=given,
        columns={"predicted_value": cell(found.value), "evidence": evidence},
        values=(Value(figure=kind, value=found.value, measured=measured),),
        traits={"chip": where.chip.name, "kind": kind, "model": given["model"][:40]},
        evidence=evidence,
    )


@cache
def _cluster(name: str) -> Cluster:
    return cluster(name)


def _where(given: Row) -> Cluster:
    text = f"{given['gpu']} {given['system']}"
    for pattern, name in data.load("names")["devices"].items():
        if re.search(rf"\b{pattern}\b", text.replace("_", " "), re.IGNORECASE):
            return _cluster(name)
    raise BadInput([Finding("gpu", f"{given['gpu'][:40]!r} is no GPU of the catalog")])


def _format(given: Row) -> str:
    """The format of a row by the words of data/names.yaml, '' for none that is priced."""
    said = naming.word(given["precision"]) or ""
    return said if said in FORMATS else ""


def _compute(given: Row, where: Cluster) -> Answer:
    shape = CUBE.match(given["workload"].strip())
    format = _format(given)
    findings = []
    if given["model"] != "GEMM":
        findings.append(Finding("model", f"{given['model'][:40]!r}: only GEMM is priced alone"))
    if not shape:
        findings.append(Finding("workload", f"{given['workload'][:40]!r} is no size like '8192^3'"))
    if not format:
        findings.append(Finding("precision", f"{given['precision'][:40]!r} is no format"))
    if findings or not shape or not format:
        raise BadInput(findings)
    size = float(shape[1])
    price = Kernels(where.chip, "trtllm").gemm(size, size, size, format)
    note = "the table's GEMM quantises its activations" if format != "bf16" else ""
    return Answer(2 * size**3 / float(price.seconds) / TERA, str(price.evidence), note)


def _bandwidth(given: Row, where: Cluster) -> Answer:
    if given["model"] != "HBM":
        raise BadInput([Finding("model", f"{given['model'][:40]!r} is no memory that is priced")])
    price = Kernels(where.chip, "trtllm").stream(STREAMED)
    return Answer(STREAMED / float(price.seconds) / TERA, str(price.evidence))


def _throughput(given: Row, where: Cluster) -> Answer:
    """Output tokens/s while all requests of an offline run are in the engine."""
    load = LENGTHS.match(given["workload"].strip())
    served = naming.model(given["model"].strip())
    count = REQUESTS.search(given.get("config") or "")
    format = _format(given)
    findings = [served] if isinstance(served, Finding) else []
    if not load:
        message = f"{given['workload'][:40]!r} is not 'tpN INPUT/OUTPUT'"
        findings.append(Finding("workload", message))
    if not count:
        findings.append(Finding("config", "does not say how many requests"))
    if not format:
        findings.append(Finding("precision", f"{given['precision'][:40]!r} is no format"))
    if findings or not load or not count or not format:
        raise BadInput(findings)
    tensor, input, output = (int(each) for each in load.groups())
    known = model(str(served))
    stored = msgspec.structs.replace(known.at(format), kv=format if format != "bf16" else "bf16")
    deployment = Deployment(
        model=known,
        cluster=where,
        engine=epoch("trtllm"),
        precision=stored,
        serve=Pool(layout=Layout(tensor=tensor), max_batch=max(BATCH, int(count[1]))),
    )
    traffic = Traffic(input=input, output=output)
    state = Served(deployment).closed(traffic, float(count[1]))
    said = "steady state of all requests at once, their start and tail left out; release assumed"
    return Answer(state.output_rate, f"formula: {deployment.engine.name} in {format}", said)


def _power(given: Row, priced: Priced) -> Answer:
    """Power of the GPUs, kW; the layout is that of the same load in the serving curve."""
    clients = CLIENTS.search(given["workload"])
    layout = _curve().get(clients[1]) if clients else None
    if layout is None:
        raise BadInput([Finding("workload", "no published curve states the layout of this load")])
    row = inferencex.measurement(layout)
    served, _ = priced.of(row)
    state = served.closed(row.traffic, row.concurrency)
    idle = max(0.0, (number(given["n_gpus"]) or 0.0) - row.gpus)
    watts = state.watts * row.gpus + idle * float(served.deployment.cluster.chip.idle_power)
    busy = f"{amount(row.gpus, 'GPU')} busy, {idle:.0f} idle"
    said = f"layout of the same load in the serving curve, {busy}"
    return Answer(watts / KILO, "formula: joules of the steps", said)


@cache
def _curve() -> dict[str, Row]:
    """Azure's serving curve by clients."""
    found = rows(HERE / "inferencex.csv.gz", ("concurrency", "run_by"))
    return {row["concurrency"]: row for _, row in found if "Azure" in row["run_by"]}
