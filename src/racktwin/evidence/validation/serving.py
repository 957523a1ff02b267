"""Published serving measurements against predictions of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from racktwin.evidence import cells as grid
from racktwin.evidence import completion
from racktwin.evidence.amount import amount
from racktwin.evidence.calibration.folds import held, without
from racktwin.evidence.calibration.rescale import Rescaled, neutral
from racktwin.evidence.calibration.study import FREE
from racktwin.evidence.confidence import QUEUED as FULL
from racktwin.evidence.confidence import Interval, interval
from racktwin.evidence.measurement import Measurement, deployment
from racktwin.evidence.prediction import Prediction, predict
from racktwin.evidence.suspicion import doubts
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
from racktwin.serving.steady import Served

FORM = Form(
    set="serving",
    shipped="serving_measured.csv.gz",
    needed=("gpu_system", "framework", "model", "isl", "osl", "concurrency"),
    known=(*grid.COLUMNS, "complete", "prefill_batch_size", "decode_batch_size"),
    added=(
        *("predicted_ttft_ms", "predicted_tpot_ms", "predicted_tokens_per_s_per_gpu"),
        *("ttft_low_ms", "ttft_high_ms", "tpot_low_ms", "tpot_high_ms", "evidence", "reason"),
    ),
    measured=grid.MEASURED,
    by=("chip", "engine", "model"),
)
QUEUED = "predicted queue full"
FIGURES = ("tpot", "ttft", "output_rate")
RUN = ("id", "measured_on", "image", "complete", *grid.MEASURED)  # columns of a run
SAME = tuple(name for name in FORM.known if name not in RUN)  # columns of its configuration
MILLI = 1e3


def serving(
    points: str | Path | None = None, track: Track[tuple[int, Row]] = untracked
) -> Validation:
    """Every row of a table with the columns of `cells.COLUMNS`; what ships without one."""
    priced = Priced()
    found = sweep(FORM, points, lambda row, line: _point(row, line, priced), track)
    return msgspec.structs.replace(found, notes=(*found.notes, *_units(found)))


def _units(found: Validation) -> Iterator[str]:
    """Notes on figures that are a thousand times too small or too large as a whole."""
    for figure, column in (("ttft", "ttft_mean_ms"), ("tpot", "tpot_mean_ms")):
        values = [each for p in found.answered for each in p.values if each.figure == figure]
        ratios = [each.value / each.measured for each in values if each.measured]
        for factor, unit in ((MILLI, "seconds"), (1 / MILLI, "microseconds")):
            if ratios and factor / 5 < median(ratios) < factor * 5:
                yield f"{column}: are these {unit}? Most differ from predictions by 1,000"


class Priced:
    """Deployments that were priced before, and what of them does not fit into memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Served] = {}
        self._bare: dict[tuple[object, ...], Served] = {}
        self._folds: dict[tuple[object, ...], Served] = {}

    def of(self, row: Measurement) -> tuple[Served, str]:
        """The deployment a row was measured on; the second part says which memory it exceeds.

        What was measured did run: a deployment that does not fit by the account is priced as if
        its cache held all sequences.
        """
        key = _key(row)
        if key not in self._known:
            self._known[key] = Served(deployment(row), row.fraction or None)
        return self._fitting(self._known[key], row)

    def without(self, row: Measurement, fold: int) -> Served:
        """The same under constants fitted without a fold of the published curves."""
        key = (*_key(row), fold)
        if key not in self._folds:
            bare = self._bare.get(key[:-1])
            if bare is None:
                asked = deployment(row)
                asked = msgspec.structs.replace(asked, engine=neutral(asked.engine))
                bare = self._bare[key[:-1]] = Served(asked, row.fraction or None)
            engine = msgspec.structs.replace(without(fold, row.engine), **dict(row.constants))
            self._folds[key] = Rescaled(bare, engine)
        return self._fitting(self._folds[key], row)[0]

    def _fitting(self, served: Served, row: Measurement) -> tuple[Served, str]:
        context = row.traffic.input + row.traffic.output
        small = [role for role, fit in served.memory.items() if fit.sequences(context) < 1]
        if not small:
            return served, ""
        text = f"no request fits into the memory of {' and '.join(small)}: priced as if it did"
        return _roomy(served), text


def _key(row: Measurement) -> tuple[object, ...]:
    formats = row.precision, row.parts, row.kv, row.fraction
    return row.cluster, row.model, *formats, row.engine, row.constants, row.scheduler, row.pools


def _roomy(served: Served) -> Served:
    """The same deployment with room for every sequence of its largest batch."""
    roomy = copy.copy(served)
    roomy.memory = {
        role: msgspec.structs.replace(
            fit, kv_room=fit.visible * MILLI**3, kv_tokens=10**12, state_room=0.0
        )
        for role, fit in served.memory.items()
    }
    return roomy


def _point(given: Row, line: int, priced: Priced) -> Point:
    row = completion.measurement(given, line)
    served, short = priced.of(row)
    of = traits(row, served.deployment.cluster.chip.name)
    values, why = _values(row, given, (served, priced), of)
    text = "; ".join(each for each in (why, short, *_said(row)) if each)
    return Point(
        line=line,
        cells=given,
        columns={**_columns(values), "evidence": text, "reason": ""},
        values=values,
        traits=of,
        configuration="|".join(given.get(name) or "" for name in SAME),
        evidence=text,
    )


def _values(
    row: Measurement, given: Row, priced: tuple[Served, Priced], of: Mapping[str, str]
) -> tuple[tuple[Value, ...], str]:
    """TTFT and TPOT in ms, output tokens/s/GPU by Little's law from both; what they rest on."""
    found = predict(row, priced[0])
    measured = {"ttft": positive(given, "ttft_mean_ms"), "tpot": positive(given, "tpot_mean_ms")}
    if measured["ttft"] and measured["tpot"]:
        seconds = (measured[name] or 0.0 for name in ("ttft", "tpot"))
        measured["output_rate"] = _rate(row, *(each / MILLI for each in seconds))
    doubted = _doubted(given)
    bands = {name: _interval(row, name, of, found) for name in FIGURES}
    held = _held(row, priced[1], of)
    values = tuple(
        Value(
            figure=name,
            value=value,
            low=value * bands[name].low,
            high=value * bands[name].high,
            measured=measured.get(name),
            held=held.get(name),
            doubt=doubted.get(name, ""),
            apart=QUEUED if name == "ttft" and found.limit != FREE else "",
        )
        for name, value in _figures(row, found).items()
    )
    said = "" if found.followed else "too many clients to follow, steady state; "
    return values, f"{said}TPOT: {bands['tpot'].text}"


def _figures(row: Measurement, found: Prediction) -> dict[str, float]:
    """A prediction in the units of the table."""
    rate = _rate(row, found.ttft, found.tpot)
    return {"tpot": found.tpot * MILLI, "ttft": found.ttft * MILLI, "output_rate": rate}


def _held(row: Measurement, priced: Priced, of: Mapping[str, str]) -> dict[str, Held]:
    """Figures by constants and intervals that never saw the row's curve; none for a new curve."""
    fold = held(row.curve)
    if fold is None:
        return {}
    found = predict(row, priced.without(row, fold))
    bands = {name: _interval(row, name, of, found, fold) for name in FIGURES}
    return {
        name: Held(value, value * bands[name].low, value * bands[name].high)
        for name, value in _figures(row, found).items()
    }


def _rate(row: Measurement, ttft: float, tpot: float) -> float:
    """Output tokens/s/GPU of a closed loop with these latencies, s."""
    held = row.concurrency * row.traffic.output
    return held / (ttft + row.traffic.steps * tpot) / row.gpus


def _doubted(given: Row) -> dict[str, str]:
    """Why measured figures are not trusted, by figure; a rate follows from both latencies."""
    text = {name: (given.get(name) or "").strip() for name in grid.COLUMNS}
    found: dict[str, str] = {}
    for doubt in doubts(text):
        for figure in (*doubt.of, "output_rate"):
            found.setdefault(figure, doubt.reason)
    return found


def _interval(
    row: Measurement, figure: str, of: Mapping[str, str], found: Prediction, fold: int | None = None
) -> Interval:
    return interval(
        figure,  # type: ignore[arg-type]
        chip=of["chip"],
        engine=of["engine"],
        role="aggregated" if row.aggregated else "disaggregated",
        model=row.model,
        regime=FULL if found.limit != FREE else "",
        fold=fold,
    )


def traits(row: Measurement, chip: str) -> dict[str, str]:
    """What rows of serving measurements are grouped by; chip: its name."""
    return {
        "chip": chip,
        "engine": row.engine.partition("-")[0],
        "epoch": row.engine,
        "model": row.model,
        "precision": row.precision,
        "mode": "aggregated" if row.aggregated else "disaggregated",
        "lengths": f"{row.traffic.input:.0f}/{row.traffic.output:.0f}",
    }


def _columns(values: Sequence[Value]) -> dict[str, str]:
    tpot, ttft, rate = values
    cells = (ttft.value, tpot.value, rate.value, ttft.low, ttft.high, tpot.low, tpot.high)
    return dict(zip(FORM.added, (cell(each) for each in cells), strict=False))


def _said(row: Measurement) -> tuple[str, ...]:
    layouts = ", ".join(
        f"{pool.replicas} x {pool.layout.title}" if pool.replicas > 1 else pool.layout.title
        for pool in row.pools
    )
    notes = [each for each in row.inferred if each != "defaults"]
    inferred = f"inferred: {', '.join(notes)}" if notes else ""
    return f"read as {row.engine}, {row.stored}, {layouts}, {amount(row.gpus, 'GPU')}", inferred
