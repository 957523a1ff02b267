"""InferenceX results: layouts in prose ('1P TEP2 + 4D TEP8; MTP3') as measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from racktwin.engine import epochs
from racktwin.engine.deployment import Pool, Speculation
from racktwin.evidence import data, naming
from racktwin.evidence.condition import number
from racktwin.evidence.drafting import drafted
from racktwin.evidence.measurement import Client, Measurement
from racktwin.evidence.pooling import BATCH
from racktwin.evidence.recipe import Run, launched
from racktwin.finding import BadInput, Finding
from racktwin.models.layout import Layout
from racktwin.serving.traffic import Traffic

POOL = re.compile(
    r"(\d{1,4})([PD])\b\s*\(?([A-Z0-9/ ]*?)(?:\s*\((\d{1,4}) GPU|(\d{1,4}) GPU|[,;)+]|$)"
)
DEGREE = re.compile(r"(TEP|DEP|TP|DP|EP)(\d{1,4})")
MTP = re.compile(r"MTP(\d)")
BUDGET = re.compile(r"(\d{3,6}) tokens")
DECODE_BATCH = re.compile(r"decode batch (\d{1,5})")
NONE = re.compile(r"\b0+[PD]\b|\b(?:TEP|DEP|TP|DP|EP)0+\b|decode batch 0+\b|\b0+ tokens\b")
LARGEST = 100_000  # GPUs of a pool
SOFTWARE = re.compile(r"(?:dynamo-)?(trt|sglang|vllm)\S*\s+v?(\S+)")
ENGINES = {"trt": "trtllm"}
NUMBERS = ("isl", "osl", "concurrency")
Row = Mapping[str, str]


def measurement(row: Row, line: int = 1, source: str = "row") -> Measurement:
    """The deployment of a row under its load, from no measured cell; BadInput with all it lacks."""
    findings: list[Finding] = []
    served = naming.model(re.sub(r"-v\d$", "", row["model"].strip()))
    words = row["gpu"].lower().split()
    where = data.load("names")["spellings"].get(words[0] if words else "", "")
    cluster = naming.system(where or row["gpu"])
    findings += [each for each in (served, cluster) if isinstance(each, Finding)]
    numbers = {name: number(row[name] or "") for name in NUMBERS}
    findings += [
        Finding(name, f"{row[name][:20]!r} is no count")
        for name, value in numbers.items()
        if value is None or not 1 <= value <= 1e7
    ]
    pools, notes = _pools(row["config"], findings)
    if findings:
        raise BadInput(findings, source)
    engine = _engine(row["framework"])
    run = Run(
        model=str(served),
        system=words[0],
        precision="fp4" if "FP4" in row["precision"].upper() else "fp8",
        input=int(numbers["isl"] or 0),
        output=int(numbers["osl"] or 0),
        clients=round(numbers["concurrency"] or 0),
        drafts=pools["decode"].speculation.tokens,
    )
    if not DECODE_BATCH.search(row["config"]):
        pools["prefill"], pools["decode"], limits = launched(run, pools["prefill"], pools["decode"])
        notes += [limits] if limits else []
    facts = data.load("inferencex")
    said = (*notes, engine.how, "lengths between 0.8 and 1.0 of nominal")
    return Measurement(
        id=row["config"][:80],
        source=source,
        line=line,
        system=row["gpu"],
        cluster=str(cluster),
        model=str(served),
        precision="nvfp4" if "FP4" in row["precision"].upper() else "fp8_block",
        kv="fp8",
        engine=engine.name,
        traffic=Traffic(
            input=(numbers["isl"] or 1) * facts["lengths"],
            output=(numbers["osl"] or 1) * facts["lengths"],
        ),
        concurrency=numbers["concurrency"] or 1,
        client=Client(waves=facts["waves"], spread=2 * (1 - facts["lengths"]) / facts["lengths"]),
        inferred=tuple(each for each in said if each),
        prefill=pools["prefill"],
        decode=pools["decode"],
    )


def _engine(text: str) -> epochs.Match:
    found = SOFTWARE.search(text)
    if not found:
        raise BadInput([Finding("framework", f"{text[:40]!r} names no known engine and version")])
    return epochs.match(ENGINES.get(found[1], found[1]), found[2])


def _pools(text: str, findings: list[Finding]) -> tuple[dict[str, Pool], list[str]]:
    """'1P TEP2 (2 GPU) + 4D TEP8 (32 GPU); decode batch 4; MTP3' as a prefill and a decode pool."""
    text = text[:400]
    notes: list[str] = []
    drafts = MTP.search(text)
    speculation = drafted(int(drafts[1])) if drafts else Speculation()
    budget, batch = BUDGET.search(text), DECODE_BATCH.search(text)
    pools: dict[str, Pool] = {}
    for count, letter, words, gpus, more in POOL.findall(text.partition(";")[0]):
        role = "prefill" if letter == "P" else "decode"
        layout = _layout(words, text, int(gpus or more or 0), notes)
        if layout is None:
            continue
        pool = Pool(layout=layout, replicas=int(count), max_batch=BATCH)
        if role == "prefill" and budget:
            pool = msgspec.structs.replace(pool, max_batch_tokens=int(budget[1]))
        if role == "decode":
            most = int(batch[1]) if batch else BATCH
            pool = msgspec.structs.replace(pool, speculation=speculation, max_batch=most)
        pools[role] = pool
    findings += [Finding("config", f"{each!r} counts nothing") for each in NONE.findall(text)[:4]]
    if any(pool.gpus > LARGEST for pool in pools.values()):
        findings.append(Finding("config", f"a pool of more than {LARGEST:,} GPUs"))
    if set(pools) != {"prefill", "decode"}:
        findings.append(Finding("config", f"{text[:60]!r} states no layout of prefill and decode"))
    if drafts:
        shares = ", ".join(f"{each:.2g}" for each in speculation.chances)
        notes.append(f"acceptance of a draft {shares}")
    return pools, notes


def _layout(words: str, text: str, gpus: int, notes: list[str]) -> Layout | None:
    degrees = {name: int(size) for name, size in DEGREE.findall(words)}
    if not degrees and gpus:
        notes.append(f"layout of {gpus} GPUs: TEP{gpus}")
        degrees = {"TEP": gpus}
    data_parallel = "ADP" in text.partition("+")[0] and "TP" in degrees
    match degrees:
        case {"TEP": size}:
            return Layout(tensor=size, expert=size)
        case {"DEP": size}:
            return Layout(attention_data=size, expert=size)
        case {"TP": size, "EP": expert} if size == expert and data_parallel:
            return Layout(attention_data=size, expert=size)
        case {"TP": size}:
            expert = degrees.get("EP", 1)
            return Layout(tensor=size, expert=expert, expert_tensor=max(1, size // expert))
    return None
