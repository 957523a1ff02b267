"""MLPerf inference results against the output rate of their configuration."""

from __future__ import annotations

from pathlib import Path

import msgspec

from racktwin.evidence import mlperf as results
from racktwin.evidence.amount import amount
from racktwin.evidence.condition import number
from racktwin.evidence.confidence import Interval, Role, interval
from racktwin.evidence.data import HERE
from racktwin.evidence.loadgen import Limits, highest
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.mlperf_config import Configurations, benchmark
from racktwin.evidence.table import rows
from racktwin.evidence.table_error import table_error
from racktwin.evidence.validation.point import (
    Point,
    Track,
    Validation,
    Value,
    cell,
    positive,
    untracked,
)
from racktwin.evidence.validation.serving import Priced
from racktwin.evidence.validation.sweep import Form, Row, sweep
from racktwin.finding import BadInput, Finding

FORM = Form(
    set="mlperf",
    shipped="mlperf_inference.csv.gz",
    needed=results.RESULTS,
    known=(
        *results.RESULTS,
        *("system", "availability", "accel_per_node", "n_nodes", "value", "units", "precision"),
        *("value_per_accel", "software", "samples_per_s", "target_qps", "valid", "accuracy"),
        *(f"{name}_{what}_ms" for name in ("ttft", "tpot") for what in ("mean", "p50", "p99")),
        *("lat_mean_ms", "lim_ttft_ms", "lim_tpot_ms", "notes", "has_power", "source"),
    ),
    measured=("value",),
    added=("predicted_value", "low", "high", "evidence", "reason"),
    by=("chip", "model", "round"),
)
MEASURED = ("value", "value_per_accel", "samples_per_s", "target_qps", "lat_mean_ms")
CONFIGS, WORKLOADS = HERE / "mlperf_configs.csv.gz", HERE / "mlperf_workloads.csv.gz"
LIMITS = ("ttft_p99_limit_ms", "tpot_p99_limit_ms")
SAME = ("round", "accelerator", "n_accelerators", "model", "scenario", "precision")
MILLI = 1e3
SEARCHED = "highest Poisson load whose p99 TTFT and TPOT hold, by simulation"
OLDER = 1.02  # times slower from which the software of a round is said to be


def mlperf(
    points: str | Path | None = None,
    configs: str | Path | None = None,
    workloads: str | Path | None = None,
    track: Track[tuple[int, Row]] = untracked,
) -> Validation:
    """Every result in a file of them; configurations and workloads as they ship by default."""
    known = Configurations.read(configs or CONFIGS)
    judge = Judge(_limits(Path(workloads or WORKLOADS)))
    return sweep(FORM, points, lambda row, line: _point(row, line, known, judge), track)


def shipped_limits() -> dict[tuple[str, str], Limits]:
    """Largest p99 of TTFT and TPOT, s, by benchmark and scenario, as they ship."""
    return _limits(WORKLOADS)


def _limits(path: Path) -> dict[tuple[str, str], Limits]:
    """Largest p99 of TTFT and TPOT, s, by benchmark and scenario."""
    found = {}
    for _, row in rows(path, ("model", "scenario", *LIMITS)):
        values = [number(row[name] or "") for name in LIMITS]
        if values[0] and values[1]:
            key = benchmark({"model": row["model"]}), row["scenario"]
            found[key] = Limits(values[0] / MILLI, values[1] / MILLI)
    return found


class Judge:
    """What a configuration yields in a scenario; results of one configuration are run once."""

    def __init__(self, limits: dict[tuple[str, str], Limits]) -> None:
        self.limits, self.priced = limits, Priced()
        self._known: dict[tuple[object, ...], Found | BadInput] = {}

    def of(self, given: Row, row: Measurement) -> Found:
        """Output tokens/s of a result's configuration; BadInput where there is no answer."""
        key = row.cluster, row.engine, row.constants, row.precision, row.kv, row.fraction
        key = *key, row.pools, row.concurrency, row.model, given["scenario"]  # type: ignore[assignment]
        if key not in self._known:
            try:
                self._known[key] = self._found(given, row)
            except BadInput as fault:
                self._known[key] = fault
        found = self._known[key]
        if isinstance(found, BadInput):
            raise found
        return found

    def _found(self, given: Row, row: Measurement) -> Found:
        served, short = self.priced.of(row)
        name, scenario = benchmark(given), given["scenario"]
        if scenario == results.SCENARIO:
            state = served.closed(row.traffic, row.concurrency)
            return Found(state.output_rate, (short, self._slower(row, state.output_rate)))
        limits = self.limits.get((name, scenario))
        if limits is None:
            raise BadInput([Finding("scenario", f"{scenario[:40]!r} has no known latency limits")])
        found = highest(served, results.lengths(name), row.traffic, limits)
        trial = found.trial
        at = f"p99 TTFT {trial.ttft:.2f} s and TPOT {1e3 * trial.tpot:.1f} ms there"
        said = f"{SEARCHED}: {trial.requests:.4g} requests/s, {at}; 3 % more: {found.stopped}"
        return Found(trial.output_rate, (short, said))

    def _slower(self, row: Measurement, rate: float) -> str:
        """How many times faster today's software is, where a round's was another."""
        if not row.constants:
            return ""
        today, _ = self.priced.of(msgspec.structs.replace(row, constants=()))
        times = today.closed(row.traffic, row.concurrency).output_rate / rate
        return f"with today's software {times:.2f} times as much" if times > OLDER else ""


class Found(msgspec.Struct, frozen=True):
    """Out tokens/s of the whole, and what is to say about it."""

    rate: float
    said: tuple[str, ...]


def _point(given: Row, line: int, known: Configurations, judge: Judge) -> Point:
    row = results.measurement({**given, **dict.fromkeys(MEASURED, "")}, known, line)
    found = judge.of(given, row)
    rate, served = found.rate, judge.priced.of(row)[0]
    scenario = given["scenario"]
    chip = served.deployment.cluster.chip.name
    engine = row.engine.partition("-")[0]
    role: Role = "aggregated" if row.aggregated else "disaggregated"
    band = interval("output_rate", chip=chip, engine=engine, role=role, model=row.model)
    judged = table_error(FORM.set, scenario, "")
    if judged:
        text = amount(judged.rows, f"{scenario} result")
        band = Interval(min(judged.low, 1.0), max(judged.high, 1.0), text)
    value = Value(
        figure="rate",
        value=rate,
        low=rate * band.low,
        high=rate * band.high,
        measured=positive(given, "value"),
        apart="" if scenario == results.SCENARIO else scenario,
    )
    layouts = " + ".join(f"{pool.replicas} x {pool.layout.title}" for pool in row.pools)
    inferred = f"inferred: {', '.join(row.inferred)}" if row.inferred else ""
    said = (band.text, *found.said, f"read as {row.engine}, {row.precision}, {layouts}", inferred)
    evidence = "; ".join(each for each in said if each)
    return Point(
        line=line,
        cells=given,
        columns={
            "predicted_value": cell(rate),
            "low": cell(value.low),
            "high": cell(value.high),
            "evidence": evidence,
            "reason": "",
        },
        values=(value,),
        configuration="|".join(given.get(name) or "" for name in SAME),
        traits={
            "chip": chip,
            "model": row.model,
            "round": given["round"],
            "scenario": scenario,
            "engine": row.engine,
            "precision": row.precision,
            "mode": role,
            "submitter": given["submitter"][:40],
            "configuration": "another" if results.BORROWED in inferred else "its own",
        },
        evidence=evidence,
    )
