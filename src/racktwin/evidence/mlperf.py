"""MLPerf inference results, joined with the configurations that produced them.

Only the Offline scenario is a steady state: the engine is full all the time and the figure is the
output rate. Rows whose layout or lengths are in no file are refused.
"""

from __future__ import annotations

import re
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
ANCHOR = "deepseek-r1"
CHIP = re.compile(r"(GB300|GB200|B300|B200|H200|H100)")
SOFTWARE = re.compile(r"(vllm|sglang|tensorrt[-_ ]llm) v?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
ENGINES = {"vllm": "vllm", "sglang": "sglang"}
Row = Mapping[str, str]


class Configurations(msgspec.Struct, frozen=True):
    """Published configurations, and which of them belongs to a result."""

    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: str | Path) -> Configurations:
        """The configurations in a file; BadInput when it cannot be used."""
        return cls(tuple(row for _, row in rows(Path(path), CONFIGS)))

    def of(self, result: Row) -> tuple[Row, str] | None:
        """The configuration of a result and how it was found, '' for its own; None without any.

        One that leaves out its TP takes another of the chip, benchmark and scenario: of the same
        round if there is one, of the submitter, of NVIDIA, of anybody, in this order.
        """
        own = next((each for each in self.rows if _own(each, result)), None)
        if own is not None and own.get("tp"):
            return own, ""
        alike = [each for each in self.rows if each.get("tp") and _alike(each, result)]
        if not alike:
            return (own, "") if own is not None else None
        best = max(alike, key=lambda each: _nearness(each, result))
        said = " ".join(best[name] for name in ("round", "submitter", "system"))
        return best, f"configuration not published: that of {said}"


def _own(config: Row, result: Row) -> bool:
    same = all(config[name] == result[name] for name in ("round", "submitter", "scenario"))
    system = config["system"].removesuffix("_TRT") == result["platform"].removesuffix("_TRT")
    return same and system and benchmark(config) == benchmark(result)


def _alike(config: Row, result: Row) -> bool:
    chips = CHIP.search(config["system"]), CHIP.search(result["accelerator"])
    same = all(chips) and chips[0][0] == chips[1][0]  # type: ignore[index]
    scenario = config["scenario"] == result["scenario"]
    return same and scenario and benchmark(config) == benchmark(result)


def _nearness(config: Row, result: Row) -> tuple[bool, bool, bool, str]:
    owner = config["submitter"]
    mine = owner == result["submitter"]
    return config["round"] == result["round"], mine, owner == "NVIDIA", config["system"]


def benchmark(row: Row) -> str:
    """The benchmark of a result or a configuration, in the names of data/mlperf.yaml."""
    name = (row.get("file") or row.get("model") or "").rpartition("/")[2].split(".py")[0]
    name = name.removesuffix(".yml").replace("llama3.1", "llama3_1")
    return name.removesuffix("-99.9").removesuffix("-99")


def read(results: str | Path, configs: str | Path) -> Sheet:
    """The Offline results of DeepSeek-R1 on known accelerators; BadInput for unusable files."""
    known, names = Configurations.read(configs), data.load("mlperf")
    found, refused = [], []
    for line, row in rows(Path(results), RESULTS):
        if row["scenario"] != SCENARIO or row["accelerator"] not in names["accelerators"]:
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
    asked = names["benchmarks"].get(benchmark(row))
    if asked is None:
        findings.append(unknown("model", row["model"], names["benchmarks"], line))
    if row["accelerator"] not in names["accelerators"]:
        findings.append(unknown("accelerator", row["accelerator"], names["accelerators"], line))
    found = known.of(row) if not findings else None
    if found is None and not findings:
        findings.append(Finding("system", "no configuration of this system is published", line))
    rate = number(row.get("value") or "")
    if row.get("value") and (not rate or rate < 0 or row.get("units") not in ("Tokens/s", "")):
        findings.append(Finding("value", "is no rate in Tokens/s", line))
    pool = _pool(found[0], row["n_accelerators"], findings) if found else None
    if findings or asked is None or pool is None or found is None:
        raise BadInput(findings, source)
    engine = _engine(row)
    if found[1] and not engine.name.startswith("trtllm"):
        raise BadInput(
            [Finding("system", f"no configuration for {engine.name} is published", line)]
        )
    scheduler = names["schedulers"].get(engine.name.partition("-")[0], "")
    said = (*names["assumed"], found[1], engine.how, scheduler and f"scheduler {scheduler}")
    return Measurement(
        id=label(row),
        source=source,
        line=line,
        system=row["accelerator"],
        cluster=names["accelerators"][row["accelerator"]],
        model=asked["model"],
        precision=_precision(row, found[0]),
        kv=found[0].get("kv_dtype") or "fp8",
        fraction=number(found[0].get("kv_frac") or "") or 0.0,
        scheduler=scheduler,
        engine=engine.name,
        traffic=msgspec.convert({k: asked[k] for k in ("input", "output", "variation")}, Traffic),
        concurrency=float(pool.replicas * pool.layout.attention_data * pool.max_batch),
        serve=pool,
        output_rate=rate,
        curve=label(row),
        inferred=tuple(each for each in said if each),
    )


def _precision(row: Row, config: Row) -> str:
    said = row.get("precision") or config.get("precision") or ""
    return {"fp4": "nvfp4", "fp8": "fp8", "bf16": "bf16"}.get(said, "checkpoint")


def _pool(config: Row, accelerators: str, findings: list[Finding]) -> Pool | None:
    values: dict[str, int] = {}
    wanted = {"tp": config.get("tp"), "n_accelerators": accelerators}
    wanted |= {name: config.get(name) for name in ("max_batch_per_gpu", "max_num_tokens")}
    wanted |= {name: config.get(name) or "1" for name in ("pp", "ep")}
    for column, text in wanted.items():
        value = number(text or "")
        if value is None or not 1 <= value <= 1e6 or value != int(value):
            findings.append(Finding(column, f"{(text or '')[:20]!r} is no count"))
        else:
            values[column] = int(value)
    if findings:
        return None
    ranks, stages = values["tp"], values["pp"]
    size, gpus = ranks * stages, values["n_accelerators"]
    if gpus % size:
        findings.append(Finding("tp", f"{size} GPUs of a replica do not divide {gpus} GPUs"))
        return None
    data_parallel = config.get("attention_dp") == "True"
    expert = values["ep"]
    layout = Layout(
        tensor=1 if data_parallel else ranks,
        pipeline=stages,
        attention_data=ranks if data_parallel else 1,
        expert=expert,
        expert_tensor=max(1, ranks // expert),
    )
    return Pool(
        layout=layout,
        replicas=gpus // size,
        max_batch=values["max_batch_per_gpu"],
        max_batch_tokens=values["max_num_tokens"],
    )


def _engine(row: Row) -> epochs.Match:
    if found := SOFTWARE.search(row.get("software") or ""):
        return epochs.match(ENGINES.get(found[1].lower(), "trtllm"), found[2])
    known: Any = data.load("mlperf")["rounds"].get(row["round"])
    if known is None:
        raise BadInput([unknown("round", row["round"], data.load("mlperf")["rounds"])])
    return epochs.match(known["engine"], known.get("version", ""), known.get("date", ""))
