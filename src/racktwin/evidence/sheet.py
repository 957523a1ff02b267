"""A table of published serving measurements: CSV with the columns of `cells.COLUMNS`.

The file is outside input: rows that cannot be used are refused one by one with the reason, the
rest is read. Measured columns may be empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from racktwin.engine import epochs
from racktwin.evidence import cells as grid
from racktwin.evidence import naming, pooling, series
from racktwin.evidence.cells import Cells
from racktwin.evidence.launch import Launch, launch
from racktwin.evidence.measurement import Client, Measurement
from racktwin.evidence.suspicion import doubts
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding
from racktwin.models import model
from racktwin.models.architecture import Experts
from racktwin.serving.traffic import Traffic

NEEDED = ("gpu_system", "framework", "model", "mode", "isl", "osl", "concurrency", "tp_size")


class Refusal(msgspec.Struct, frozen=True):
    """A row that does not say enough to be predicted, and everything it lacks."""

    line: int
    id: str
    findings: tuple[Finding, ...]


class Sheet(msgspec.Struct, frozen=True):
    """What a table held."""

    measurements: tuple[Measurement, ...]
    refused: tuple[Refusal, ...]


def read(path: str | Path) -> Sheet:
    """Every measurement in a CSV file; BadInput when the file itself cannot be used."""
    found, refused = [], []
    for line, row in rows(Path(path), NEEDED):
        try:
            found.append(measurement(row, line, Path(path).name))
        except BadInput as error:
            refused.append(Refusal(line, (row.get("id") or "")[: grid.LONGEST], error.findings))
    return Sheet(tuple(found), tuple(refused))


def measurement(row: Mapping[str, str], line: int = 1, source: str = "row") -> Measurement:
    """The measurement in one row; BadInput with everything that is missing or wrong."""
    cells, findings = grid.read(row)
    served, where = naming.model(cells.text["model"]), naming.system(cells.text["gpu_system"])
    findings += [each for each in (served, where) if isinstance(each, Finding)]
    when, undated = series.day(cells.text["measured_on"])
    said = series.spelled({**cells.text, "measured_on": when}, str(served))
    settings = launch(said)
    try:
        version = said["framework_version"] or settings.version
        engine = epochs.match(cells.text["framework"], version, when)
        engine = msgspec.structs.replace(engine, how=undated or engine.how)
    except BadInput as error:
        findings += error.findings
    faults = (naming.unknown_format(each, cells.text[each]) for each in naming.FORMATS)
    findings += [fault for fault in faults if fault]
    try:
        if not findings:
            pools = pooling.read(cells, settings, moe=_moe(str(served)))
    except BadInput as error:
        findings += error.findings
    if findings:
        located = [msgspec.structs.replace(each, line=line) for each in findings]
        raise BadInput(located, source)
    return _measurement(cells, settings, engine, pools, (str(served), str(where), line, source))


def _moe(name: str) -> bool:
    layers = model(name).architecture.kinds
    return any(isinstance(layer.feedforward, Experts) for layer in layers)


def _measurement(
    cells: Cells,
    settings: Launch,
    engine: epochs.Match,
    pools: pooling.Pools,
    place: tuple[str, str, int, str],
) -> Measurement:
    text, numbers = cells.text, cells.numbers
    served, where, line, source = place
    precision, guess = naming.precision(text)
    inferred = (*pools.inferred, engine.how, guess, *settings.rules)
    return Measurement(
        id=text["id"],
        source=source,
        line=line,
        system=text["gpu_system"],
        cluster=where,
        model=served,
        precision=precision,
        parts=naming.parts(text, moe=_moe(served)),
        kv=settings.kv,
        fraction=settings.fraction,
        engine=engine.name,
        constants=(("split_graphs", True),) if settings.split_graphs else (),
        traffic=Traffic(
            input=(numbers["isl"] or 1) * settings.lengths,
            output=(numbers["osl"] or 1) * settings.lengths,
        ),
        concurrency=numbers["concurrency"] or 1,
        client=Client(
            waves=settings.waves,
            spread=settings.spread or 2 * (1 - settings.lengths) / settings.lengths,
            held=settings.held,
            polled=settings.polled,
            crowded=settings.crowded,
        ),
        ttft=_seconds(numbers["ttft_mean_ms"]),
        tpot=_seconds(numbers["tpot_mean_ms"]),
        curve=_curve(text, pools),
        inferred=tuple(each for each in inferred if each),
        doubts=doubts(text),
        serve=pools.pools.get("serve"),
        prefill=pools.pools.get("prefill"),
        decode=pools.pools.get("decode"),
    )


def _seconds(milliseconds: float | None) -> float | None:
    return milliseconds / 1e3 if milliseconds else None


def _curve(text: Mapping[str, str], pools: pooling.Pools) -> str:
    """Rows that differ in load only share a curve."""
    names = ("model", "gpu_system", "framework", "framework_version", "precision", "isl", "osl")
    layouts = [
        f"{role}:{pool.replicas}x"
        + "/".join(str(each) for each in msgspec.structs.astuple(pool.layout))
        for role, pool in pools.pools.items()
    ]
    return "|".join([*(text[name] for name in names), *layouts])
