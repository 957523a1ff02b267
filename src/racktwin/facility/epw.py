"""EPW files as people have them: gaps, marks of missing values, wrong units, leap years.

Columns and marks: EnergyPlus, Auxiliary Programs, weather data dictionary.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from racktwin.facility.air import humidity_at, wet_bulb
from racktwin.facility.weather import MONTHS, Weather
from racktwin.finding import BadInput, Finding

Floats = NDArray[np.float64]
HEADS = 8  # lines before the data
LARGEST = 64 << 20  # bytes
COLUMNS = {"dry bulb": 6, "dew point": 7, "relative humidity": 8, "pressure": 9}
MISSING = {"dry bulb": 99.9, "dew point": 99.9, "relative humidity": 999.0, "pressure": 999999.0}
RANGES = {
    "dry bulb": (-70.0, 70.0, "°C"),
    "dew point": (-90.0, 70.0, "°C"),
    "relative humidity": (0.0, 110.0, "%"),
    "pressure": (31000.0, 120000.0, "Pa"),
}
HOTTEST = 45.0  # °C, no place on earth is hotter in the mean of a year
LONGEST_GAP = 6  # hours filled in by a straight line
SHOWN = 12  # findings of a kind


def read_epw(path: str | Path) -> Weather:
    """The weather of a file; BadInput with every fault and its line."""
    lines = _lines(Path(path))
    findings: list[Finding] = []
    title = _title(lines, findings)
    rows, numbers = _rows(lines, findings)
    if not findings:
        _check_times(rows, numbers, findings)
    if findings:
        raise BadInput(_some(findings), str(path))
    columns = {name: _column(name, rows, numbers, findings) for name in COLUMNS}
    _check_units(columns, findings)
    if findings:
        raise BadInput(_some(findings), str(path))
    dry, pressure = columns["dry bulb"], columns["pressure"]
    humidity = np.clip(columns["relative humidity"] / 100, 0.0, 1.0)
    empty = np.isnan(humidity)
    humidity[empty] = humidity_at(np.minimum(columns["dew point"], dry), dry)[empty]
    return Weather(
        title=title,
        origin=Path(path).name,
        dry=dry,
        wet=wet_bulb(dry, humidity, pressure),
        pressure=pressure,
        month=np.array([int(row[1]) for row in rows]),
    )


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput([Finding("file", f"cannot be read: {reason}")], str(path)) from error
    if len(raw) > LARGEST:
        raise BadInput([Finding("file", f"is larger than {LARGEST >> 20} MiB")], str(path))
    return raw.decode("utf-8-sig", errors="replace").splitlines()


def _title(lines: list[str], findings: list[Finding]) -> str:
    head = lines[0].split(",") if lines else [""]
    if head[0].strip().upper() != "LOCATION":
        text = f"expected 'LOCATION,city,...', found {lines[0][:30]!r}" if lines else "is empty"
        findings.append(Finding("LOCATION", text, 1))
        return ""
    return ", ".join(part for each in head[1:4] if (part := each.strip()) and part != "-")


def _rows(lines: list[str], findings: list[Finding]) -> tuple[list[list[str]], list[int]]:
    """Data rows split into fields, and their line numbers."""
    rows, numbers = [], []
    for number, line in enumerate(lines[HEADS:], HEADS + 1):
        if not line.strip():
            continue
        row = [each.strip() for each in line.split(",")]
        if len(row) <= max(COLUMNS.values()):
            text = f"expected year,month,day,hour and at least 6 fields more, found {len(row)}"
            findings.append(Finding("row", text, number))
        elif not all(each.lstrip("-").isdecimal() for each in row[:4]):
            text = f"expected year,month,day,hour, found {','.join(row[:4])[:40]!r}"
            findings.append(Finding("time", text, number))
        else:
            rows.append(row)
            numbers.append(number)
    if not rows and not findings:
        text = f"no data behind the {HEADS} header lines"
        findings.append(Finding("file", text, len(lines) or None))
    return rows, numbers


def _check_times(rows: list[list[str]], numbers: list[int], findings: list[Finding]) -> None:
    """Hours 1 to 24 of every day of the year, in order, each once."""
    times = [_hour(row) for row in rows]
    for time, row, number in zip(times, rows, numbers, strict=True):
        if time is None:
            text = f"month {row[1]}, day {row[2]}, hour {row[3]} is none; hours go from 1 to 24"
            findings.append(Finding("time", text, number))
    if findings:
        return
    leap = any(row[1:3] == ["2", "29"] for row in rows)
    skipped = 0 if leap else 24  # of a file without a 29th of February, in hours
    known = [time for time in times if time is not None]
    for (before, after), number in zip(pairwise(known), numbers[1:], strict=True):
        step = after - before
        across = before < 60 * 24 <= after
        expected = 1 + (skipped if across else 0)
        if step == expected:
            continue
        if step == 0:
            text = "this hour stands twice; one row an hour is expected"
        elif step < 0:
            text = "goes back in time"
        else:
            lost = step - expected
            text = f"{lost:,} {'hour is' if lost == 1 else 'hours are'} missing before this row"
        findings.append(Finding("time", text, number))
    whole = sum(MONTHS) * 24 + (24 if leap else 0)
    if not findings and len(rows) != whole:
        text = f"expected the {whole:,} hours of a year, found {len(rows):,}"
        findings.append(Finding("file", text, numbers[-1]))


def _hour(row: list[str]) -> int | None:
    """Hours since the begin of a leap year, None where there is no such hour."""
    month, day, hour = (int(each) for each in row[1:4])
    if not 1 <= month <= 12 or not 1 <= hour <= 24:
        return None
    days = [length + (index == 1) for index, length in enumerate(MONTHS)]
    if not 1 <= day <= days[month - 1]:
        return None
    return (sum(days[: month - 1]) + day - 1) * 24 + hour - 1


def _column(
    name: str, rows: list[list[str]], numbers: list[int], findings: list[Finding]
) -> Floats:
    """One quantity; short gaps are filled in, long ones are findings, but for humidity's two."""
    low, high, unit = RANGES[name]
    found = np.empty(len(rows))
    for index, row in enumerate(rows):
        text = row[COLUMNS[name]]
        try:
            value = float(text) if text else MISSING[name]
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            findings.append(Finding(name, f"{text[:20]!r} is not a number", numbers[index]))
            value = math.nan
        elif _missing(name, value):
            value = math.nan
        elif not low <= value <= high:
            text = f"{value:g} is out of range; expected {low:g} to {high:g} {unit}"
            findings.append(Finding(name, text + _unit_hint(name, value), numbers[index]))
        found[index] = value
    return _filled(name, found, numbers, findings)


def _missing(name: str, value: float) -> bool:
    """Marks are nines; some writers put more of them than the dictionary says."""
    return value >= MISSING[name] * (1 - 1e-9) and set(f"{value:.12g}") <= {"9", "."}


def _unit_hint(name: str, value: float) -> str:
    if name == "pressure" and 310 <= value <= 1200:
        return " (is it in hPa? times 100)"
    if name == "pressure" and 31 <= value <= 120:
        return " (is it in kPa? times 1,000)"
    if name in ("dry bulb", "dew point") and value > 200:
        return " (is it in kelvin? minus 273.15)"
    return " (is it in °F?)" if name in ("dry bulb", "dew point") and value > 0 else ""


def _filled(name: str, found: Floats, numbers: list[int], findings: list[Finding]) -> Floats:
    empty = np.isnan(found)
    if not empty.any():
        return found
    edges = np.flatnonzero(np.diff(np.concatenate([[0], empty.astype(int), [0]])))
    needed = name in ("dry bulb", "pressure")
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if needed and end - start > LONGEST_GAP:
            text = f"{end - start:,} hours without a value; up to {LONGEST_GAP} are filled in"
            findings.append(Finding(name, text, numbers[start]))
    if empty.all():
        return found
    at = np.arange(len(found))
    if needed:
        found[empty] = np.interp(at[empty], at[~empty], found[~empty])
    return found


def _check_units(columns: dict[str, Floats], findings: list[Finding]) -> None:
    """Faults of a whole column that no single value shows."""
    if findings:
        return
    dry, dew = columns["dry bulb"], columns["dew point"]
    mean = float(dry.mean())
    if mean > HOTTEST:
        text = f"a mean of {mean:.0f} °C over the year is too hot for any place: is it in °F?"
        findings.append(Finding("dry bulb", text))
    moist = columns["relative humidity"]
    known = moist[~np.isnan(moist)]
    if len(known) and known.max() <= 1.0:
        text = f"at most {known.max():g} % all year: is it a share of 1? times 100"
        findings.append(Finding("relative humidity", text))
    lost = int((np.isnan(moist) & np.isnan(dew)).sum())
    if lost:
        text = f"{lost:,} hours have neither a humidity nor a dew point"
        findings.append(Finding("relative humidity", text))


def _some(findings: list[Finding]) -> list[Finding]:
    """At most a dozen of each key, and how many more there are."""
    shown: list[Finding] = []
    counts: dict[str, int] = {}
    for each in findings:
        counts[each.key] = counts.get(each.key, 0) + 1
        if counts[each.key] <= SHOWN:
            shown.append(each)
    more = {key: count - SHOWN for key, count in counts.items() if count > SHOWN}
    return [*shown, *(Finding(key, f"and {left:,} more like these") for key, left in more.items())]
