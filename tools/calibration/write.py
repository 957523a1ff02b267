"""Fitted constants into catalog/epochs/*.yaml: one line each, everything else stays as it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from racktwin.evidence.calibration.fit import ENOUGH, TPOT, TTFT, Constants
from racktwin.evidence.calibration.folds import mark

EPOCHS = Path(__file__).parents[2] / "src" / "racktwin" / "catalog" / "epochs"
SOURCE = "fit on published serving measurements"


FOLDS = Path(__file__).parents[2] / "src" / "racktwin" / "evidence" / "data" / "folds.yaml"


def write_folds(parts: Sequence[Constants], curves: Iterable[str], path: Path = FOLDS) -> Path:
    """The constants fitted without each fold; curves: those that were fitted."""
    names = [constant.name for constant in TPOT + TTFT]
    lines = [
        "# Written by tools/calibrate.py: constants fitted without one fold of the curves each.",
        f"count: {len(parts)}",
        f"constants: [{', '.join(names)}]",
        "values:",
    ]
    for part in parts:
        values = [
            f"{name}: [{', '.join(f'{getattr(found, each):.3g}' for each in names)}]"
            for name, found in part.items()
        ]
        lines += [f"  - {values[0]}", *(f"    {value}" for value in values[1:])]
    marks = sorted({mark(curve) for curve in curves})
    rows = [", ".join(f'"{each}"' for each in marks[start : start + 8])
            for start in range(0, len(marks), 8)]  # fmt: skip
    lines += [
        "curves: [  # marks of the curves that were fitted",
        *(f"  {row}," for row in rows),
        "]",
    ]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def write(constants: Constants, rows: Counter[str], date: str, folder: Path = EPOCHS) -> list[Path]:
    """Rewrite the fitted lines of every epoch; rows: measurements by epoch."""
    written = []
    for name, found in constants.items():
        path = folder / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        kind, source = ("measured", f"{SOURCE}, {rows[name]} rows")
        if rows[name] < ENOUGH:
            kind, source = ("assumed", f"{SOURCE}, the mean of its engine")
        origin = f'kind: {kind}, source: "{source}", date: {date}'
        unmoved = f'kind: assumed, source: "no published measurement shows it", date: {date}'
        for constant in TPOT + TTFT:
            if constant.only and name not in constant.only:
                continue
            value = f"{getattr(found, constant.name):.3g}"
            moved = value != f"{constant.start:.3g}"
            line = f"{constant.name}: {{value: {value}, {origin if moved else unmoved}}}"
            text, times = re.subn(rf"^{constant.name}: .*$", line, text, flags=re.M)
            if times != 1:
                raise ValueError(f"{path}: {times} lines for {constant.name}")
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
