"""Fitted constants into catalog/epochs/*.yaml: one line each, everything else stays as it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from racktwin.evidence.calibration.fit import TPOT, TTFT, Constants

EPOCHS = Path(__file__).parents[2] / "src" / "racktwin" / "catalog" / "epochs"
SOURCE = "fit on published serving measurements"


def write(constants: Constants, rows: Counter[str], date: str, folder: Path = EPOCHS) -> list[Path]:
    """Rewrite the fitted lines of every epoch; rows: measurements by epoch."""
    written = []
    for name, found in constants.items():
        path = folder / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        kind, source = ("measured", f"{SOURCE}, {rows[name]} rows")
        if not rows[name]:
            kind, source = ("assumed", f"{SOURCE}, the mean of its engine")
        origin = f'kind: {kind}, source: "{source}", date: {date}'
        for constant in TPOT + TTFT:
            value = f"{getattr(found, constant.name):.3g}"
            line = f"{constant.name}: {{value: {value}, {origin}}}"
            text, times = re.subn(rf"^{constant.name}: .*$", line, text, flags=re.M)
            if times != 1:
                raise ValueError(f"{path}: {times} lines for {constant.name}")
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
