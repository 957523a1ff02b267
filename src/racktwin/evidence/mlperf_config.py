"""The configurations that submitters of MLPerf results published, and the pools they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from racktwin.engine.deployment import Pool
from racktwin.evidence.amount import amount
from racktwin.evidence.condition import number
from racktwin.evidence.drafting import drafted
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding
from racktwin.models.layout import Layout

CONFIGS = ("round", "submitter", "system", "scenario", "file", "tp", "ep", "attention_dp")
CHIP = re.compile(r"(GB300|GB200|B300|B200|H200|H100)")
ROLES = {"disagg_prefill/": "prefill", "disagg_decode/": "decode"}  # folders of a configuration
WORKERS = {role: f"dynamo_{role}_workers" for role in ROLES.values()}
ENDINGS = (".py", ".yml", ".yaml")
MOST = 1e6
Row = Mapping[str, str]


class Configured(msgspec.Struct, frozen=True):
    """The pools of a result by role, the row with their formats, and what was inferred."""

    pools: dict[str, Pool]
    row: Row
    inferred: tuple[str, ...] = ()


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
        whole = [each for each in self.rows if not _role(each)]
        own = next((each for each in whole if _own(each, result)), None)
        if own is not None and (own.get("tp") or _split(own)):
            return own, ""
        best = self._nearest([each for each in whole if each.get("tp")], result)
        if best is None:
            return (own, "") if own is not None else None
        return best, f"configuration not published: that of {_said(best)}"

    def configured(self, result: Row) -> Configured | None:
        """The pools of a result, None without any configuration; BadInput when it is faulty."""
        found = self.of(result)
        if found is None:
            return None
        row, how = found
        gpus = number(result["n_accelerators"] or "")
        findings: list[Finding] = []
        if gpus is None or not 1 <= gpus <= MOST or gpus != int(gpus):
            text = f"{result['n_accelerators'][:20]!r} is no count"
            raise BadInput([Finding("n_accelerators", text)])
        if _split(row):
            return self._disaggregated(row, result, int(gpus))
        pool = _pool(row, findings)
        size = pool.layout.gpus if pool else 1
        if gpus % size:
            text = f"{size} GPUs of a replica do not divide {amount(int(gpus), 'GPU')}"
            findings.append(Finding("tp", text))
        if findings or pool is None:
            raise BadInput(findings)
        pool = msgspec.structs.replace(pool, replicas=int(gpus) // size)
        said = [how, *_drafts(pool)]
        return Configured({"serve": pool}, row, tuple(each for each in said if each))

    def _disaggregated(self, row: Row, result: Row, gpus: int) -> Configured:
        """Pools of their own for prefill and decode, as many workers as the row counts."""
        findings: list[Finding] = []
        pools, said, main = {}, [], row
        for role, column in WORKERS.items():
            known = [each for each in self.rows if _role(each) == role and each.get("tp")]
            part = self._nearest(known, result)
            pool = None if part is None else _pool(part, findings, role)
            if part is None or pool is None:
                findings.append(Finding(column, f"no configuration of {role} is published"))
                continue
            workers = int(number(row[column]) or 1)
            pools[role] = msgspec.structs.replace(pool, replicas=workers)
            said.append(f"{role} workers: {_said(part)}")
            main = {**row, **{k: v for k, v in part.items() if v and not row.get(k)}}
        whole = sum(pool.gpus for pool in pools.values())
        if whole and gpus % whole and not findings:
            text = f"{whole} GPUs of the workers do not divide {amount(gpus, 'GPU')}"
            findings.append(Finding("n_accelerators", text))
        if findings:
            raise BadInput(findings)
        times = gpus // whole
        pools = {
            role: msgspec.structs.replace(pool, replicas=pool.replicas * times)
            for role, pool in pools.items()
        }
        return Configured(pools, main, (*said, *_drafts(pools["decode"])))

    def _nearest(self, known: list[Row], result: Row) -> Row | None:
        alike = [each for each in known if _alike(each, result)]
        return max(alike, key=lambda each: _nearness(each, result), default=None)


def _role(config: Row) -> str:
    """The pool that a configuration is of, '' for the whole."""
    return next((role for folder, role in ROLES.items() if folder in (config["file"] or "")), "")


def _split(config: Row) -> bool:
    return all(number(config.get(column) or "") for column in WORKERS.values())


def _said(config: Row) -> str:
    return " ".join(config[name] for name in ("round", "submitter", "system"))


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
    name = (row.get("file") or row.get("model") or "").rpartition("/")[2]
    for ending in ENDINGS:
        name = name.split(ending)[0] if ending == ".py" else name.removesuffix(ending)
    name = name.replace("llama3.1", "llama3_1")
    return name.removesuffix("-99.9").removesuffix("-99")


def _pool(config: Row, findings: list[Finding], role: str = "serve") -> Pool | None:
    """One replica as configured, or None with what is missing."""
    values: dict[str, int] = {}
    wanted = {name: config.get(name) for name in ("tp", "max_batch_per_gpu", "max_num_tokens")}
    wanted |= {name: config.get(name) or "1" for name in ("pp", "ep")}
    wanted |= {"spec_decode": config.get("spec_decode") or "0"}
    before = len(findings)
    for column, text in wanted.items():
        value = number(text or "")
        least = 0 if column == "spec_decode" else 1
        if value is None or not least <= value <= MOST or value != int(value):
            findings.append(Finding(column, f"{(text or '')[:20]!r} is no count"))
        else:
            values[column] = int(value)
    if len(findings) > before:
        return None
    ranks, expert = values["tp"], values["ep"]
    data_parallel = config.get("attention_dp") == "True"
    drafts = values["spec_decode"] if role != "prefill" else 0
    return Pool(
        layout=Layout(
            tensor=1 if data_parallel else ranks,
            pipeline=values["pp"],
            attention_data=ranks if data_parallel else 1,
            expert=expert,
            expert_tensor=max(1, ranks // expert),
        ),
        max_batch=values["max_batch_per_gpu"],
        max_batch_tokens=values["max_num_tokens"],
        speculation=drafted(drafts),
    )


def _drafts(pool: Pool) -> tuple[str, ...]:
    drafts = pool.speculation
    if not drafts.tokens:
        return ()
    shares = ", ".join(f"{each:.2g}" for each in drafts.chances)
    return (f"{drafts.tokens} drafts accepted like those of Azure's curve, {shares}",)
