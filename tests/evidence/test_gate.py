"""Predictions of a fixed part of the published rows do not get worse."""

from __future__ import annotations

from pathlib import Path

from calibration.gate import BASELINE, WORSE, errors
from racktwin import catalog


def test_errors_are_those_of_the_baseline_or_less(tmp_path: Path) -> None:
    baseline = catalog.read(BASELINE).plain()
    now = errors(tmp_path)
    assert set(now) == set(baseline)
    grown = {name: f"{baseline[name]:.1%} -> {value:.1%}" for name, value in now.items()
             if value > baseline[name] + WORSE}  # fmt: skip
    assert not grown, "worse than before; see tools/set_gate.py"
