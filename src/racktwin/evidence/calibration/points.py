"""A user's measurements, read to be fitted: every fault is named, nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from racktwin.evidence import cells as grid
from racktwin.evidence import completion
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
        """The shipped epoch that most of them ran under."""
        return Counter(row.engine for row in self.rows).most_common(1)[0][0]


def read(path: str | Path) -> Points:
    """The points of a file with the columns of `cells.COLUMNS`; BadInput with all that is wrong."""
    findings: list[Finding] = []
    found: list[Measurement] = []
    unmeasured = 0
    for line, row in rows(Path(path), NEEDED):
        faults = _faults(row, line)
        try:
            one = completion.measurement(row, line, Path(path).name)
        except BadInput as fault:
            known = {(each.key, each.line) for each in faults}
            more = [msgspec.structs.replace(each, line=line) for each in fault.findings]
            findings += faults + [each for each in more if (each.key, each.line) not in known]
            continue
        findings += faults
        times = {name: _seconds(row, f"{name}_mean_ms") for name in ("ttft", "tpot")}
        if times["tpot"] is None:
            unmeasured += 1
        else:
            found.append(msgspec.structs.replace(one, **times, doubts=()))
    findings += _whole(found, unmeasured) if not findings else ()
    if findings:
        raise BadInput(_shortened(findings), str(path))
    points = Points(str(path), tuple(found), unmeasured, ())
    return msgspec.structs.replace(points, notes=tuple(_notes(points)))


def _notes(points: Points) -> list[str]:
    """What of the rows was inferred, and which ran under another release than the base."""
    base, releases = points.base, Counter(row.engine for row in points.rows)
    notes = [f"{n} rows of {name} taken as {base}" for name, n in releases.items() if name != base]
    inferred = dict.fromkeys(note for row in points.rows for note in row.inferred)
    return [*notes, *(f"inferred: {note}" for note in inferred if note != "defaults")]


def _faults(row: Mapping[str, str], line: int) -> list[Finding]:
    """What is wrong with the measured cells of a row."""
    found = []
    for column in grid.MEASURED:
        text = (row.get(column) or "").strip()
        value = number(text)
        if text and (value is None or not 0 < value <= grid.LARGEST):
            message = f"{text[:20]!r} is no time in ms above 0"
            found.append(Finding(column, message, line))
    return found


def _seconds(row: Mapping[str, str], column: str) -> float | None:
    value = number((row.get(column) or "").strip())
    return value * MILLI if value and value > 0 else None


def _whole(found: list[Measurement], unmeasured: int) -> list[Finding]:
    """What is wrong with the points together."""
    findings = []
    if len(found) < LEAST:
        empty = f", {unmeasured} more without" if unmeasured else ""
        message = f"{len(found)} rows with a measured TPOT{empty}; at least {LEAST} are needed"
        findings.append(Finding("rows", f"{message}, {USEFUL} are useful"))
    if len(found) > MOST:
        findings.append(Finding("rows", f"{len(found):,} rows; at most {MOST:,}"))
    engines = Counter(row.engine.partition("-")[0] for row in found)
    if len(engines) > 1:
        said = ", ".join(f"{name} ({count} rows)" for name, count in engines.most_common())
        findings.append(Finding("framework", f"{said}: one engine a file, make a file of each"))
    return findings


def _shortened(findings: list[Finding]) -> list[Finding]:
    rest = len(findings) - SHOWN
    more = [Finding("rows", f"{rest:,} more findings")] if rest > 0 else []
    return [*findings[:SHOWN], *more]
