"""MLPerf inference results, joined with the configurations that produced them.

Only the Offline scenario is a steady state: the engine is full all the time and the figure is the
output rate. Rows whose layout or lengths are in no file are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from racktwin.engine import epochs
from racktwin.engine.deployment import Pool
from racktwin.evidence import data
from racktwin.evidence.condition import number
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.sheet import Refusal, Sheet
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding, unknown
from racktwin.models.layout import Layout
from racktwin.serving.traffic import Traffic

RESULTS = ("round", "submitter", "platform", "accelerator", "n_accelerators", "model", "scenario")
CONFIGS = ("round", "submitter", "system", "scenario", "file", "tp", "ep", "attention_dp")
SCENARIO = "Offline"
Key = tuple[str, str, str, str]


def read(results: str | Path, configs: str | Path) -> Sheet:
    """The Offline results of known accelerators; BadInput when a file cannot be used."""
    known = {_key(row, "system"): row for _, row in rows(Path(configs), CONFIGS)}
    names = data.load("mlperf")
    found, refused = [], []
    for line, row in rows(Path(results), RESULTS):
        if row["scenario"] != SCENARIO or row["accelerator"] not in names["accelerators"]:
            continue
        label = f"{row['round']} {row['submitter']} {row['platform']} {row['model']}"[:400]
        try:
            config = known.get(_key(row, "platform"))
            found.append(_measurement(row, config, label, line, Path(results).name))
        except BadInput as error:
            refused.append(Refusal(line, label, error.findings))
    return Sheet(tuple(found), tuple(refused))


def _key(row: Mapping[str, str], system: str) -> Key:
    benchmark = (row.get("file") or row.get("model") or "").rpartition("/")[2].split(".py")[0]
    where = row[system].removesuffix("_TRT")
    return row["round"], row["submitter"], where, f"{benchmark} {row['scenario']}"


def _measurement(
    row: Mapping[str, str], config: Mapping[str, str] | None, label: str, line: int, source: str
) -> Measurement:
    names = data.load("mlperf")
    findings: list[Finding] = []
    benchmark = names["benchmarks"].get(row["model"])
    if benchmark is None:
        findings.append(unknown("model", row["model"], names["benchmarks"], line))
    if config is None:
        findings.append(Finding("system", "no configuration of this system is published", line))
        raise BadInput(findings, source)
    pool = _pool(config, row["n_accelerators"], findings)
    rate = number(row.get("value") or "")
    if rate is None or rate <= 0 or row.get("units") != "Tokens/s":
        findings.append(Finding("value", "is no rate in Tokens/s", line))
    if findings or benchmark is None or pool is None:
        raise BadInput(findings, source)
    engine = _engine(row)
    return Measurement(
        id=label,
        source=source,
        line=line,
        system=row["accelerator"],
        cluster=names["accelerators"][row["accelerator"]],
        model=benchmark["model"],
        precision={"fp4": "nvfp4"}.get(row.get("precision", ""), "checkpoint"),
        kv=config.get("kv_dtype") or "fp8",
        engine=engine.name,
        traffic=msgspec.convert(
            {k: benchmark[k] for k in ("input", "output", "variation")}, Traffic
        ),
        concurrency=float(pool.replicas * pool.layout.attention_data * pool.max_batch),
        serve=pool,
        output_rate=rate,
        curve=label,
        inferred=("mean input length assumed", *([engine.how] if engine.how else [])),
    )


def _pool(config: Mapping[str, str], accelerators: str, findings: list[Finding]) -> Pool | None:
    values: dict[str, int] = {}
    wanted = {"tp": config.get("tp"), "ep": config.get("ep"), "n_accelerators": accelerators}
    wanted |= {name: config.get(name) for name in ("max_batch_per_gpu", "max_num_tokens")}
    for column, text in wanted.items():
        value = number(text or "")
        if value is None or not 1 <= value <= 1e6 or value != int(value):
            findings.append(Finding(column, f"{(text or '')[:20]!r} is no count"))
        else:
            values[column] = int(value)
    if findings:
        return None
    ranks = values["tp"]
    if values["n_accelerators"] % ranks:
        findings.append(Finding("tp", f"{ranks} do not divide {values['n_accelerators']} GPUs"))
        return None
    data_parallel = config.get("attention_dp") == "True"
    layout = Layout(
        tensor=1 if data_parallel else ranks,
        attention_data=ranks if data_parallel else 1,
        expert=values["ep"],
        expert_tensor=max(1, ranks // values["ep"]),
    )
    return Pool(
        layout=layout,
        replicas=values["n_accelerators"] // ranks,
        max_batch=values["max_batch_per_gpu"],
        max_batch_tokens=values["max_num_tokens"],
    )


def _engine(row: Mapping[str, str]) -> epochs.Match:
    known: Any = data.load("mlperf")["rounds"].get(row["round"])
    if known is None:
        raise BadInput([unknown("round", row["round"], data.load("mlperf")["rounds"])])
    return epochs.match(known["engine"], known.get("version", ""), known.get("date", ""))
