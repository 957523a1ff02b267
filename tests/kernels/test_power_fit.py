"""The power model against published watts that nothing was fitted on, or that a fit left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from power_fit import a100, aks
from racktwin import catalog


def test_gb300_under_load_within_15_percent() -> None:
    """Five loads of DeepSeek-R1 on AKS, prefill and decode nodes together."""
    rows = aks.compared()
    measured = [each.row.prefill_kw + each.row.decode_kw for each in rows]
    assert measured == pytest.approx([10.9, 14.8, 12.6, 21.7, 19.7])
    for each in rows:
        assert abs(each.error) <= 0.15, each


def test_a100_set_ups_left_out(shared: Path) -> None:
    found = a100.fitted(shared / "truth/power_a100_h100.csv")
    assert found.rows == 36  # of 228: A100, with a reading, prompts below 4,096
    assert found.left_out <= 0.05
    entry = catalog.load("power", "a100")
    assert [entry.data[name] for name in ("floor", "memory", "compute")] == pytest.approx(
        found.shares, abs=6e-4
    )
