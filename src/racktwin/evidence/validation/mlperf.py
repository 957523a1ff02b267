"""MLPerf inference results against the output rate of their configuration."""

from __future__ import annotations

from pathlib import Path

from racktwin.evidence import mlperf as results
from racktwin.evidence.condition import number
from racktwin.evidence.confidence import interval
from racktwin.evidence.data import HERE
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.table import rows
from racktwin.evidence.validation.point import Point, Track, Validation, Value, cell, untracked
from racktwin.evidence.validation.serving import Priced
from racktwin.evidence.validation.sweep import Form, Row, sweep
from racktwin.finding import BadInput, Finding
from racktwin.serving.steady import Served

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
    added=("predicted_value", "low", "high", "evidence", "reason"),
    by=("chip", "model", "round"),
)
MEASURED = ("value", "value_per_accel", "samples_per_s", "target_qps", "lat_mean_ms")
CONFIGS, WORKLOADS = HERE / "mlperf_configs.csv.gz", HERE / "mlperf_workloads.csv.gz"
LIMITS = ("ttft_p99_limit_ms", "tpot_p99_limit_ms")
MEANS = "Server and Interactive: means within the limits"


def mlperf(
    points: str | Path | None = None,
    configs: str | Path | None = None,
    workloads: str | Path | None = None,
    track: Track[tuple[int, Row]] = untracked,
) -> Validation:
    """Every result in a file of them; configurations and workloads as they ship by default."""
    known = results.Configurations.read(configs or CONFIGS)
    limits = _limits(Path(workloads or WORKLOADS))
    priced = Priced()
    return sweep(FORM, points, lambda row, line: _point(row, line, known, limits, priced), track)


def _limits(path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Largest p99 of TTFT and TPOT, s, by benchmark and scenario."""
    found = {}
    for _, row in rows(path, ("model", "scenario", *LIMITS)):
        values = [number(row[name] or "") for name in LIMITS]
        if values[0] and values[1]:
            key = results.benchmark({"model": row["model"]}), row["scenario"]
            found[key] = (values[0] / 1e3, values[1] / 1e3)
    return found


def _point(
    given: Row,
    line: int,
    known: results.Configurations,
    limits: dict[tuple[str, str], tuple[float, float]],
    priced: Priced,
) -> Point:
    row = results.measurement({**given, **dict.fromkeys(MEASURED, "")}, known, line)
    served, short = priced.of(row)
    scenario, apart = given["scenario"], ""
    if scenario == results.SCENARIO:
        rate = served.closed(row.traffic, row.concurrency).output_rate
    elif limit := limits.get((results.benchmark(given), scenario)):
        rate, apart = _within(served, row, limit), MEANS
    else:
        raise BadInput([Finding("scenario", f"{scenario[:40]!r} has no known latency limits")])
    chip = served.deployment.cluster.chip.name
    engine = row.engine.partition("-")[0]
    band = interval("output_rate", chip=chip, engine=engine, role="aggregated", model=row.model)
    value = Value(
        figure="rate",
        value=rate,
        low=rate * band.low,
        high=rate * band.high,
        measured=number(given.get("value") or "") or None,
        apart=apart,
    )
    layout = f"{row.pools[0].replicas} x {row.pools[0].layout.title}"
    inferred = f"inferred: {', '.join(row.inferred)}" if row.inferred else ""
    said = (band.text, short, f"read as {row.engine}, {row.precision}, {layout}", apart, inferred)
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
        traits={
            "chip": chip,
            "model": row.model,
            "round": given["round"],
            "scenario": scenario,
            "engine": row.engine,
            "precision": row.precision,
            "mode": "aggregated",
            "submitter": given["submitter"][:40],
            "configuration": "another" if "configuration not published" in inferred else "its own",
        },
        evidence=evidence,
    )


def _within(served: Served, row: Measurement, limit: tuple[float, float]) -> float:
    """Output tokens/s of the largest steady load whose means hold the limits on p99, s.

    An upper estimate: the tail of a run lies above its mean.
    """
    curve = served.curve(row.traffic)
    good = (curve.ttft <= limit[0]) & (curve.tpot <= limit[1])
    if not good.any():
        raise BadInput([Finding("scenario", "no load holds its latency limits")])
    return float(curve.requests[good].max()) * row.traffic.output
