"""What Azure published of its own systems: serving curve, collectives, operators, power."""

from __future__ import annotations

from pathlib import Path

import msgspec

from racktwin.evidence import inferencex
from racktwin.evidence.amount import amount
from racktwin.evidence.confidence import Interval, interval
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.prediction import predict
from racktwin.evidence.table import rows
from racktwin.evidence.validation import collectives, figures
from racktwin.evidence.validation.point import (
    Point,
    Track,
    Validation,
    Value,
    cell,
    positive,
    untracked,
)
from racktwin.evidence.validation.serving import MILLI, Priced, traits
from racktwin.evidence.validation.sweep import SHIPPED, Answer, Form, Row, sweep
from racktwin.finding import BadInput, Finding

ADDED = (
    *("predicted_value", "low", "high", "predicted_tok_s_per_gpu", "predicted_ttft_ms"),
    *("predicted_tpot_ms", "predicted_us", "predicted_busbw_GBps", "evidence", "reason"),
)
CURVE = ("gpu", "framework", "precision", "model", "isl", "osl", "concurrency", "config")
MEASURED = ("tok_s_per_gpu", "tok_s_out_per_gpu", "tok_s_per_user", "ttft_ms", "tpot_ms")
SINGLE = ("system", "gpu", "n_gpus", "model", "workload", "metric", "value", "unit", "precision")
OTHER = ("date", "n_gpus", "tok_s_basis", "run_by", "source", "notes")
BY: tuple[str, ...] = ()  # every figure is a kind of its own
FORMS = {
    "curve": Form(
        set="azure",
        shipped="inferencex.csv.gz",
        needed=CURVE,
        known=(*CURVE, *MEASURED, *OTHER),
        added=ADDED,
        measured=("tok_s_per_gpu", "ttft_ms", "tpot_ms"),
        by=BY,
    ),
    "figures": Form(
        set="azure",
        shipped="other_inference.csv.gz",
        needed=SINGLE,
        known=(*SINGLE, "framework", "config", "primary_or_secondary", *OTHER),
        added=ADDED,
        measured=("value",),
        by=BY,
    ),
    "collectives": msgspec.structs.replace(collectives.FORM, set="azure", added=ADDED, by=BY),
}
WHERE = ("system", "run_by")  # columns that name the machine


def azure(
    points: str | Path | None = None, track: Track[tuple[int, Row]] = untracked
) -> Validation:
    """Azure's published figures, or every row of a file with the columns of one of their tables."""
    if points is not None:
        kind = _kind(Path(points))
        return sweep(FORMS[kind], points, _answers()[kind], track)
    parts = []
    for kind, answer in _answers().items():
        found = sweep(FORMS[kind], None, answer, track)
        own = tuple(each for each in found.points if _azure(each.cells))
        parts.append(msgspec.structs.replace(found, points=own))
    return Validation(
        set="azure",
        source=SHIPPED,
        held="left out",
        header=tuple(dict.fromkeys(name for each in parts for name in each.header)),
        added=ADDED,
        by=BY,
        points=tuple(point for each in parts for point in each.points),
        measured=tuple(dict.fromkeys(name for each in parts for name in each.measured)),
    )


def _answers() -> dict[str, Answer]:
    priced = Priced()
    return {
        "curve": lambda row, line: _on_curve(row, line, priced),
        "figures": lambda row, line: figures.answer(row, line, priced),
        "collectives": _collective,
    }


def _kind(path: Path) -> str:
    """Which table's columns a file has; BadInput with the nearest one's missing columns."""
    names = {name for _, row in _first(path) for name in row}
    lacking = {
        kind: [each for each in form.needed if each not in names] for kind, form in FORMS.items()
    }
    kind = min(lacking, key=lambda each: len(lacking[each]) / len(FORMS[each].needed))
    if lacking[kind]:
        findings = [Finding(name, "column is missing", 1) for name in lacking[kind]]
        raise BadInput(findings, str(path))
    return kind


def _first(path: Path) -> list[tuple[int, Row]]:
    return [each for each, _ in zip(rows(path, ()), range(1), strict=False)]


def _azure(row: Row) -> bool:
    return any("azure" in (row.get(name) or "").lower() for name in WHERE)


def _collective(given: Row, line: int) -> Point:
    point = collectives.answer(given, line)
    return msgspec.structs.replace(point, traits={**point.traits, "kind": "collective"})


def _on_curve(given: Row, line: int, priced: Priced) -> Point:
    """Input and output tokens/s/GPU, TPOT and TTFT in ms of a row of the serving curve.

    Its notes say that TTFT is a median.
    """
    row = inferencex.measurement({**given, **dict.fromkeys(MEASURED, "")}, line)
    served, short = priced.of(row)
    found = predict(row, served)
    chip = served.deployment.cluster.chip.name
    both = row.traffic.input + row.traffic.output
    rate = found.output_rate * both / row.traffic.output / row.gpus
    values = (
        _value("total_rate", rate, _band(row, chip, "output_rate"), given["tok_s_per_gpu"]),
        _value("tpot", found.tpot * MILLI, _band(row, chip, "tpot"), given["tpot_ms"]),
        _value("ttft", found.median * MILLI, _band(row, chip, "ttft"), given["ttft_ms"]),
    )
    evidence = "; ".join(
        each
        for each in (
            _band(row, chip, "tpot").text,
            short,
            f"read as {row.engine}, {row.precision}, {amount(row.gpus, 'GPU')}",
            f"inferred: {', '.join(row.inferred)}",
        )
        if each
    )
    columns = {
        "predicted_value": cell(rate),
        "low": cell(values[0].low),
        "high": cell(values[0].high),
        "predicted_tok_s_per_gpu": cell(rate),
        "predicted_tpot_ms": cell(found.tpot * MILLI),
        "predicted_ttft_ms": cell(found.median * MILLI),
        "evidence": evidence,
    }
    return Point(
        line=line,
        cells=given,
        columns=columns,
        values=values,
        traits={"kind": "serving", **traits(row, chip)},
        evidence=evidence,
    )


def _band(row: Measurement, chip: str, figure: str) -> Interval:
    engine = row.engine.partition("-")[0]
    role = "aggregated" if row.aggregated else "disaggregated"
    return interval(figure, chip=chip, engine=engine, role=role, model=row.model)  # type: ignore[arg-type]


def _value(figure: str, value: float, band: Interval, measured: str) -> Value:
    return Value(
        figure=figure,
        value=value,
        low=value * band.low,
        high=value * band.high,
        measured=positive({figure: measured or ""}, figure),
    )
