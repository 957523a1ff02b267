"""A small fixed part of the published rows, whose errors must not grow: the gate of the tests.

`python tools/set_gate.py` writes the baseline that tests/evidence/test_gate.py compares with.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from racktwin.evidence import validation
from racktwin.evidence.data import HERE
from racktwin.evidence.table import rows
from racktwin.evidence.validation.record import table_csv
from racktwin.evidence.validation.tally import summary

BASELINE = Path(__file__).parents[2] / "tests" / "evidence" / "baseline.yaml"
PART = 40  # one row in so many
WORSE = 0.02  # by which a mean error may grow


def errors(folder: Path) -> dict[str, float]:
    """Mean errors out of fold by figure (1), and of Azure's curve; folder: for a table."""
    table = [row for _, row in rows(HERE / "serving_measured.csv.gz", ("complete",))]
    fixed = [row for row in table if crc32("|".join(row.values()).encode()) % PART == 0]
    path = folder / "gate.csv"
    path.write_text(table_csv(fixed), encoding="utf-8")
    serving = summary(validation.serving(path)).trusted.figures
    azure = summary(validation.azure()).trusted.figures
    found = {f"serving {each.figure}": each.honest.mean for each in serving}
    on_curve = [each for each in azure if each.figure in ("total_rate", "tpot")]
    return found | {f"azure {each.figure}": each.honest.mean for each in on_curve}
