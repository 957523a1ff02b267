"""Validation of MLPerf results: configurations found, borrowed, missing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.evidence.test_mlperf import CONFIG, RESULT, write

from racktwin.evidence.validation import mlperf
from racktwin.evidence.validation.point import Point, Validation

MEASURED = ("value", "value_per_accel", "samples_per_s")


@pytest.fixture(scope="module")
def shipped() -> Validation:
    return mlperf()


def validated(tmp_path: Path, result: dict[str, str], config: dict[str, str]) -> Point:
    results = write(tmp_path / "r.csv", tuple(RESULT), RESULT | result)
    configs = write(tmp_path / "c.csv", (*CONFIG, "pp", "kv_frac"), CONFIG | config)
    return mlperf(results, configs).points[0]


def test_deepseek_on_the_rack(shipped: Validation) -> None:
    """The anchor of round 6.0: 647,076 tokens/s of 72 GB300."""
    (rack,) = (
        each
        for each in shipped.answered
        if each.cells["round"] == "v6.0" and each.cells["scenario"] == "Offline"
    )
    assert rack.values[0].measured == 647076
    assert rack.values[0].value == pytest.approx(647076, rel=0.25)
    assert float(rack.columns["low"]) < rack.values[0].value < float(rack.columns["high"])


def test_every_result_of_a_known_chip_with_a_like_configuration_is_answered(
    shipped: Validation,
) -> None:
    refused = [p.reason for p in shipped.points if p.reason]
    allowed = (
        "accelerator:",
        "system: no configuration",
        "units",
        "value:",
        "n_accelerators",
        "tp:",
    )
    assert [each for each in refused if not each.startswith(allowed)] == []
    assert len(shipped.answered) > 300


def test_predictions_do_not_see_what_was_measured(tmp_path: Path) -> None:
    with_value = validated(tmp_path, {}, {})
    without = validated(tmp_path, {"value": ""}, {})
    assert with_value.columns == without.columns
    assert without.values[0].measured is None


def test_a_configuration_is_borrowed_and_that_is_said(tmp_path: Path) -> None:
    own = {"submitter": "NVIDIA", "system": "GB300-NVL72"}
    point = validated(tmp_path, {"model": "deepseek-r1"}, own)
    assert "configuration not published: that of v6.0 NVIDIA GB300-NVL72" in point.evidence
    assert validated(tmp_path, {}, {"system": "H100", "submitter": "X"}).reason


def test_pipelines_are_part_of_a_replica(tmp_path: Path) -> None:
    row = {"model": "llama3.1-405b"}
    layout = {"file": "llama3_1-405b.py", "tp": "2", "ep": "", "attention_dp": "", "pp": "2"}
    point = validated(tmp_path, row, layout)
    assert "2 x TP2" in point.evidence
    assert "PP2" in point.evidence


def test_the_table_of_results_keeps_its_columns(shipped: Validation) -> None:
    assert shipped.added == ("predicted_value", "low", "high", "evidence", "reason")
    assert csv.list_dialects()
