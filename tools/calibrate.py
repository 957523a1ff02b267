"""Fit the constants of the engine epochs: `python tools/calibrate.py [serving_measured.csv]`."""

from __future__ import annotations

import argparse
from collections import Counter
from datetime import date
from pathlib import Path

from calibration.scored import Scored
from calibration.study import Study
from calibration.write import write

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
        print(
            f"{name:14} {rows[name]:4} rows   gap {1e6 * found.gap:5.1f} us a layer"
            f"   communication x {found.communication:.2f}   wait {found.prefill_wait:4.1f} steps"
            f"   first token {1e3 * found.first_token:3.0f} ms"
        )
    if not asked.dry_run:
        for path in write(study.best, rows, date.today().isoformat()):
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
