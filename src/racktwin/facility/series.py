"""Figures by hour of a year: a price or a carbon intensity, one number or a file of them.

A file is CSV: a heading that names the unit ('$/MWh', '$/kWh', 'g/kWh', 'kg/kWh'), then a line for
each hour, the figure last: of a day, a week, a year or a leap year, repeated where it is shorter.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from racktwin.finding import BadInput, Finding
from racktwin.units import CarbonIntensity, Quantity, Tariff

Floats = NDArray[np.float64]
LENGTHS = (24, 168, 8760, 8784)
LARGEST = 4 << 20  # bytes
SHOWN = 12
PRICES = {"$/mwh": 1e-3, "usd/mwh": 1e-3, "$/kwh": 1.0, "usd/kwh": 1.0}
CARBON = {"g/kwh": 1e-3, "kg/mwh": 1e-3, "kg/kwh": 1.0, "t/mwh": 1.0}
UNIT = re.compile(r"[$A-Za-z0-9]+/[kKmM][wW][hH]")
DEAREST = 20.0  # $/kWh; the highest cap of a market is below
DIRTIEST = 3.0  # kg/kWh; the worst power station is below


def prices(text: str | Tariff, hours: int, key: str = "--tariff") -> Floats:
    """$/kWh of every hour, from '$0.08/kWh' or a file; prices may be negative."""
    return _series(text, hours, key, Tariff, PRICES, DEAREST)


def carbon(text: str | CarbonIntensity, hours: int, key: str = "--carbon") -> Floats:
    """Kilograms of CO2 per kWh of every hour, from '370 g/kWh' or a file."""
    return _series(text, hours, key, CarbonIntensity, CARBON, DIRTIEST)


def _series(
    text: str | Quantity,
    hours: int,
    key: str,
    shape: type[Quantity],
    units: dict[str, float],
    most: float,
) -> Floats:
    """most: of an hour, in the unit of the result ($/kWh, kilograms per kWh)."""
    if not isinstance(text, str):
        return np.full(hours, float(text))
    if not text.lower().endswith(".csv"):
        return np.full(hours, float(shape.parse(text, key)))
    path = Path(text)
    try:
        with path.open("rb") as file:
            lines = file.read(LARGEST).decode("utf-8-sig", errors="replace").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput([Finding("file", f"cannot be read: {reason}")], text) from error
    found, findings = _read(lines, units, most, shape is CarbonIntensity)
    if findings:
        more = len(findings) - SHOWN
        shown = findings[:SHOWN]
        shown += [Finding("file", f"and {more:,} more like these")] if more > 0 else []
        raise BadInput(shown, text)
    return np.resize(found, hours)


def _read(
    lines: list[str], units: dict[str, float], most: float, positive: bool
) -> tuple[Floats, list[Finding]]:
    """The figures in SI-based units, and every fault; most: as above ($/kWh)."""
    heading = lines[0] if lines else ""
    named = [each for each in UNIT.findall(heading) if each.lower() in units]
    if not named:
        known = ", ".join(each for each in units if not each.startswith("usd"))
        text = f"the heading names no unit: {heading[:40]!r}; expected one of {known}"
        return np.empty(0), [Finding("heading", text, 1)]
    scale, findings, values = units[named[-1].lower()], [], []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        last = line.rsplit(",", 1)[-1].strip()
        try:
            value = float(last)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            text = f"{last[:20]!r} is not a number" if last else "is empty; every hour needs one"
            findings.append(Finding("figure", text, number))
        elif abs(value * scale) > most or (positive and value < 0):
            low = 0.0 if positive else -most / scale
            text = f"{value:g} is out of range; expected {low:g} to {most / scale:g} {named[-1]}"
            findings.append(Finding("figure", text, number))
        values.append(value * scale)
    if not findings and len(values) not in LENGTHS:
        text = f"expected {', '.join(f'{each:,}' for each in LENGTHS)} hours, found {len(values):,}"
        findings.append(Finding("file", text, len(lines)))
    return np.array(values), findings
