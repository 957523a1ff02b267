"""A fitted epoch as an entry of the user's catalog: YAML text, and where it is put."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import yaml

from racktwin import catalog
from racktwin.engine.epochs import KIND
from racktwin.evidence.calibration.calibration import Calibration
from racktwin.finding import BadInput, Finding

NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")


def check_name(name: str, replace: bool) -> list[Finding]:
    """What keeps an epoch of one's own from being called `name`."""
    if not NAME.fullmatch(name) or name.endswith((".yaml", ".yml", ".json", ".")):
        text = f"{name[:60]!r}: expected a letter, then at most 39 of a-z, 0-9, '-', '_' and '.'"
        return [Finding("--name", text)]
    if name in catalog.names(KIND):
        return [Finding("--name", f"{name!r} is an engine that ships; choose another")]
    if name in catalog.own(KIND) and not replace:
        where = catalog.file(KIND, name)
        text = f"{name!r} is taken ({where}); --replace fits it anew, or choose another"
        return [Finding("--name", text)]
    return []


def text(found: Calibration, date: str) -> str:
    """The YAML of a fitted epoch; what was not fitted is that of the epoch it extends."""
    points = Path(found.points.file).name
    source = f"fit on {points}, {len(found.points.rows)} rows"
    origin = f"kind: measured, source: {_quoted(source)}, date: {date}"
    lines = [
        f"# {found.base.name} as measured points have it. Written by racktwin calibrate.",
        f"extends: {found.base.name}",
        f"name: {_quoted(found.epoch.name)}",
    ]
    for each in found.constants:
        value = f"{getattr(found.epoch, each.name):.4g}"
        if value != f"{getattr(found.base, each.name):.4g}":  # else no point shows it
            lines.append(f"{each.name}: {{value: {value}, {origin}}}")
    lines += [
        "calibrated:",
        f"  points: {_quoted(points)}",
        f"  rows: {len(found.points.rows)}",
        f"  date: {date}",
        *(f"  {key}: [{', '.join(getattr(found, key))}]" for key in ("chips", "models", "roles")),
        f"  left_out: {_quoted(found.held)}",
        "  intervals:  # 80 % of measured over predicted, of points left out of the fit",
    ]
    for one in found.scatter:
        ends, rows = f"low: {one.low:.4g}, high: {one.high:.4g}", one.left_out.count
        lines.append(f"    {one.figure}: {{{ends}, rows: {rows}}}")
    return "\n".join([*lines, ""])


def keep(found: Calibration, date: str) -> Path:
    """Write the entry of a fitted epoch, in one step, and return its file."""
    path = catalog.file(KIND, found.epoch.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(prefix=".", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text(found, date))
        os.replace(fresh, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput([Finding("folder", f"cannot be written: {reason}")], str(path)) from None
    return path


def _quoted(word: str) -> str:
    return str(yaml.safe_dump(word, default_style='"', width=10**6)).strip()
