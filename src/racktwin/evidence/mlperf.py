"""MLPerf inference results, joined with the configurations that produced them.

In the Offline scenario the engine is full all the time and the figure is the output rate; Server
and Interactive are the highest load within latency limits (`loadgen`). Rows whose layout or lengths
are in no file are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from racktwin.engine import epochs
from racktwin.evidence import data, naming
from racktwin.evidence.condition import matches, number
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.mlperf_config import Configurations, benchmark
from racktwin.evidence.sheet import Refusal, Sheet
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding, nearest
from racktwin.serving.lengths import Lengths
from racktwin.serving.sessions import Class
from racktwin.serving.traffic import Traffic
from racktwin.serving.workload import Workload, workload

RESULTS = ("round", "submitter", "platform", "accelerator", "n_accelerators", "model", "scenario")
SCENARIO = "Offline"
ANCHOR = "deepseek-r1"
INPUT_CV = 0.6  # of prompts, where no workload of the catalog says
OWN = ("", "auto", naming.CHECKPOINT)  # cells that leave a format to the checkpoint
BORROWED = "configuration not published"
SOFTWARE = re.compile(r"(vllm|sglang|tensorrt[-_ ]llm) v?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
ENGINES = {"vllm": "vllm", "sglang": "sglang"}
Row = Mapping[str, str]


def read(results: str | Path, configs: str | Path) -> Sheet:
    """The Offline results of DeepSeek-R1 on known accelerators; BadInput for unusable files."""
    known, names = Configurations.read(configs), data.load("mlperf")
    found, refused = [], []
    for line, row in rows(Path(results), RESULTS):
        if row["scenario"] != SCENARIO or accelerator(row) not in names["accelerators"]:
            continue
        try:
            if row["model"] != ANCHOR or (known.of(row) or ("", "other"))[1]:
                raise BadInput([Finding("system", "no configuration of this system", line)])
            found.append(measurement(row, known, line, Path(results).name))
        except BadInput as error:
            refused.append(Refusal(line, label(row), error.findings))
    return Sheet(tuple(found), tuple(refused))


def label(row: Row) -> str:
    """A result in one line."""
    return f"{row['round']} {row['submitter']} {row['platform']} {row['model']}"[:400]


def measurement(row: Row, known: Configurations, line: int = 1, source: str = "row") -> Measurement:
    """A result as a steady state with its configured batch; BadInput with what it lacks.

    Offline is such a state. What was measured may be missing.
    """
    names = data.load("mlperf")
    findings: list[Finding] = []
    given, row = row["accelerator"], {**row, "accelerator": accelerator(row)}
    asked = names["benchmarks"].get(benchmark(row))
    if asked is None:
        findings.append(_unknown("model", row["model"], names["benchmarks"], line))
    if row["accelerator"] not in names["accelerators"]:
        findings.append(_unknown("accelerator", given, names["accelerators"], line))
    found = None
    try:
        found = known.configured(row) if not findings else None
    except BadInput as fault:
        findings += [msgspec.structs.replace(each, line=line) for each in fault.findings]
    if found is None and not findings:
        findings.append(Finding("system", "no configuration of this system is published", line))
    rate = number(row.get("value") or "")
    if row.get("value") and (not rate or rate < 0 or row.get("units") not in ("Tokens/s", "")):
        findings.append(Finding("value", "is no rate in Tokens/s", line))
    if findings or asked is None or found is None:
        raise BadInput(findings, source)
    engine, effect = _engine(row, line), _effect(row)
    weights, kv = _formats(row, found.row, line)
    borrowed = any(each.startswith(BORROWED) for each in found.inferred)
    if borrowed and not engine.name.startswith("trtllm"):
        raise BadInput(
            [Finding("system", f"no configuration for {engine.name} is published", line)]
        )
    scheduler = names["schedulers"].get(engine.name.partition("-")[0], "")
    how = scheduler and f"scheduler {scheduler}"
    read_as = given != row["accelerator"] and f"{given!r} read as {row['accelerator']}"
    said = (read_as, *names["assumed"], *found.inferred, engine.how, effect.said, how)
    last = found.pools.get("serve") or found.pools["decode"]
    return Measurement(
        id=label(row),
        source=source,
        line=line,
        system=row["accelerator"],
        cluster=names["accelerators"][row["accelerator"]],
        model=asked["model"],
        precision=weights,
        kv=kv,
        fraction=number(found.row.get("kv_frac") or "") or 0.0,
        scheduler=scheduler,
        engine=engine.name,
        constants=effect.set,
        traffic=msgspec.convert({k: asked[k] for k in ("input", "output", "variation")}, Traffic),
        concurrency=float(last.replicas * last.layout.attention_data * last.max_batch),
        serve=found.pools.get("serve"),
        prefill=found.pools.get("prefill"),
        decode=found.pools.get("decode"),
        output_rate=rate,
        curve=label(row),
        inferred=tuple(each for each in said if each),
    )


def accelerator(row: Row) -> str:
    """The listed accelerator that a result names, in any spelling ('gb300'); else as it stands."""
    names, text = data.load("mlperf")["accelerators"], row["accelerator"].strip()
    cluster = data.load("names")["systems"].get(naming.spelled("spellings", text), "")
    alike = (each for each in names if each.lower() == text.lower())
    same_chip = (each for each, where in names.items() if where == cluster)
    return next(alike, next(same_chip, text))


def _unknown(key: str, text: str, names: Mapping[str, Any], line: int) -> Finding:
    """The finding for a name not among `names`; its vendor makes it no more alike."""
    if not text.strip():
        return Finding(key, "is empty", line)
    found = {naming.bare(each): each for each in names}
    if close := nearest(naming.bare(text), found):
        return Finding(key, f"{text!r} is not known; did you mean {found[close]!r}?", line)
    return Finding(key, f"{text!r} is not known; known: {', '.join(sorted(names))}", line)


def lengths(name: str) -> Workload:
    """The requests of a benchmark: those of the catalog, else lognormal around its means."""
    asked = data.load("mlperf")["benchmarks"][name]
    if "workload" in asked:
        return workload(asked["workload"])
    spread = math.sqrt(asked["variation"])
    input = Lengths(law="lognormal", mean=asked["input"], cv=INPUT_CV, least=1)
    output = Lengths(
        law="lognormal" if spread else "fixed", mean=asked["output"], cv=spread, least=1
    )
    return Workload(title=name, kind="assumed", classes=(Class(input=input, output=output),))


class Effect(msgspec.Struct, frozen=True):
    """What the software of a round did otherwise than its epoch.

    set: constants of an epoch by name, any unit.
    """

    name: str = ""
    set: tuple[tuple[str, float], ...] = ()

    @property
    def said(self) -> str:
        """In words, '' for nothing."""
        if not self.name:
            return ""
        values = ", ".join(f"{name} {value:g}" for name, value in self.set)
        return f"software of the round: {self.name} ({values})"


def _effect(row: Row) -> Effect:
    named = {**row, "benchmark": benchmark(row)}
    for rule in data.load("mlperf")["software"]:
        if matches(rule["where"], named):
            return Effect(rule["name"], tuple(rule["set"].items()))
    return Effect()


def _formats(row: Row, config: Row, line: int) -> tuple[str, str]:
    """Formats of the weights, 'checkpoint' where nobody says, and of the cache; BadInput."""
    said = {
        "precision": (row.get("precision") or "").strip() or config.get("precision") or "",
        "kv_dtype": config.get("kv_dtype") or "",
    }
    faults = [naming.unknown_format(key, text) for key, text in said.items() if text not in OWN]
    if found := [msgspec.structs.replace(each, line=line) for each in faults if each]:
        raise BadInput(found)
    weights, kv = ("" if each in OWN else naming.word(each) for each in said.values())
    return weights or naming.CHECKPOINT, kv or "fp8"


def _engine(row: Row, line: int) -> epochs.Match:
    if found := SOFTWARE.search(row.get("software") or ""):
        return epochs.match(ENGINES.get(found[1].lower(), "trtllm"), found[2])
    known: Any = data.load("mlperf")["rounds"].get(row["round"])
    if known is None:
        raise BadInput([_unknown("round", row["round"], data.load("mlperf")["rounds"], line)])
    return epochs.match(known["engine"], known.get("version", ""), known.get("date", ""))
