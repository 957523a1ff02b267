"""Fit the constants of the engine epochs: `python tools/calibrate.py [serving_measured.csv]`."""

from __future__ import annotations

import argparse
from collections import Counter
from datetime import date
from pathlib import Path

from calibration.write import write, write_folds
from racktwin.evidence.calibration.fit import TPOT, TTFT
from racktwin.evidence.calibration.scored import Scored
from racktwin.evidence.calibration.study import FOLDS, Study

MEASURED = Path(__file__).parents[2] / "shared" / "truth" / "serving_measured.csv"


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", type=Path, default=MEASURED)
    parser.add_argument("--dry-run", action="store_true", help="print, do not write")
    asked = parser.parse_args()
    study = Study(Scored.of(asked.table))
    rows = Counter(row.engine for row in study.scored.rows if row.trusted("tpot"))
    for name, found in study.best.items():
        values = (f"{each.name} {getattr(found, each.name):.3g}" for each in TPOT + TTFT)
        print(f"{name:14} {rows[name]:4} rows   {'   '.join(values)}")
    if not asked.dry_run:
        for path in write(study.best, rows, date.today().isoformat()):
            print(f"wrote {path}")
        parts = [study.without(study.fold == each) for each in range(FOLDS)]
        print(f"wrote {write_folds(parts, (row.curve for row in study.scored.rows))}")


if __name__ == "__main__":
    main()
