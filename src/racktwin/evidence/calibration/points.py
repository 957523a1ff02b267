"""A user's measurements, read to be fitted: every fault is named, nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from racktwin.evidence import cells as grid
from racktwin.evidence import completion, naming
from racktwin.evidence.calibration import row_check
from racktwin.evidence.condition import number
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding

NEEDED = (
    *("gpu_system", "framework", "model", "isl", "osl", "concurrency"),
    *("ttft_mean_ms", "tpot_mean_ms"),
)
LEAST = 4  # rows with a measured TPOT; below, the fit is what ships
USEFUL = 12
MOST = 5_000
SHOWN = 20  # findings of one file
MILLI = 1e-3


class Points(msgspec.Struct, frozen=True):
    """Measurements of one engine; unmeasured: rows without a TPOT; notes: what was inferred."""

    file: str
    rows: tuple[Measurement, ...]
    unmeasured: int
    notes: tuple[str, ...]

    @property
    def base(self) -> str:
        """The shipped epoch they ran under."""
        return self.rows[0].engine


def read(path: str | Path) -> Points:
    """The points of a file with the columns of `cells.COLUMNS`; BadInput with all that is wrong."""
    found: list[Measurement] = []
    given = list(rows(Path(path), NEEDED))
    findings = _copies(given)
    for line, row in given:
        faults = list(row_check.cells(row, line))
        try:
            one = completion.measurement(row, line, Path(path).name)
            faults += row_check.layout(one) if not faults else ()
        except BadInput as fault:
            more = [msgspec.structs.replace(each, line=line) for each in fault.findings]
            known = {each.key for each in more}
            faults = [*more, *(each for each in faults if each.key not in known)]
        findings += faults
        if not faults:
            times = {name: _seconds(row, f"{name}_mean_ms") for name in ("ttft", "tpot")}
            found.append(msgspec.structs.replace(one, **times, doubts=()))
    findings += _whole([row for _, row in given])
    if findings:
        raise BadInput(shortened(findings), str(path))
    measured = tuple(row for row in found if row.tpot is not None)
    points = Points(str(path), measured, len(found) - len(measured), ())
    if len(releases := Counter(row.engine for row in measured)) > 1:
        said = ", ".join(f"{name} ({count} rows)" for name, count in releases.most_common())
        text = f"{said}: one release a file, make a file of each"
        raise BadInput([Finding("framework_version", text)], str(path))
    return msgspec.structs.replace(points, notes=tuple(_notes(points)))


def _notes(points: Points) -> list[str]:
    """What of the rows was inferred."""
    inferred = dict.fromkeys(note for row in points.rows for note in row.inferred)
    return [f"inferred: {note}" for note in inferred if note != "defaults"]


def _seconds(row: Mapping[str, str], column: str) -> float | None:
    value = number((row.get(column) or "").strip())
    return value * MILLI if value and value > 0 else None


def _copies(given: Sequence[tuple[int, Mapping[str, str]]]) -> list[Finding]:
    """Rows that repeat an earlier one, measured times and all, whatever their id."""
    first: dict[tuple[str, ...], int] = {}
    findings = []
    for line, row in given:
        cells = tuple((row.get(column) or "").strip() for column in grid.COLUMNS if column != "id")
        if first.setdefault(cells, line) != line:
            text = f"is a copy of line {first[cells]}, measured times and all"
            findings.append(Finding("row", text, line))
    return findings


def _whole(given: Sequence[Mapping[str, str]]) -> list[Finding]:
    """What is wrong with the rows together."""
    findings = []
    measured = [row for row in given if (row.get("tpot_mean_ms") or "").strip()]
    if len(measured) < LEAST:
        rest = len(given) - len(measured)
        empty = f", {rest} more without" if rest else ""
        message = f"{len(measured)} rows with a measured TPOT{empty}; at least {LEAST} are needed"
        findings.append(Finding("rows", f"{message}, {USEFUL} are useful"))
    if len(given) > MOST:
        findings.append(Finding("rows", f"{len(given):,} rows; at most {MOST:,}"))
    engines = Counter(naming.spelled("frameworks", row.get("framework") or "") for row in given)
    if len(engines) > 1:
        said = ", ".join(f"{name} ({count} rows)" for name, count in engines.most_common())
        findings.append(Finding("framework", f"{said}: one engine a file, make a file of each"))
    return findings


def shortened(findings: list[Finding]) -> list[Finding]:
    """The first findings of a file, and how many more there are."""
    rest = len(findings) - SHOWN
    more = [Finding("rows", f"{rest:,} more findings")] if rest > 0 else []
    return [*findings[:SHOWN], *more]
