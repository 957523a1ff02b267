"""Validation of MLPerf results: configurations found, borrowed, missing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.evidence.test_mlperf import CONFIG, RESULT, write

from racktwin.evidence.data import HERE
from racktwin.evidence.mlperf_config import Configurations
from racktwin.evidence.table import rows
from racktwin.evidence.validation import mlperf
from racktwin.evidence.validation.mlperf import FORM
from racktwin.evidence.validation.point import Point, Validation
from racktwin.finding import BadInput

MEASURED = ("value", "value_per_accel", "samples_per_s")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Validation:
    """The Offline results that ship; the others are simulated, which takes long."""
    table = [row for _, row in rows(HERE / FORM.shipped, FORM.needed)]
    offline = [row for row in table if row["scenario"] == "Offline"]
    path = tmp_path_factory.mktemp("mlperf") / "offline.csv"
    return mlperf(write(path, tuple(table[0]), *offline))


def validated(tmp_path: Path, result: dict[str, str], config: dict[str, str]) -> Point:
    results = write(tmp_path / "r.csv", tuple(RESULT), RESULT | result)
    columns = (*CONFIG, "pp", "kv_frac", "spec_decode")
    configs = write(tmp_path / "c.csv", columns, CONFIG | config)
    return mlperf(results, configs).points[0]


def test_deepseek_on_the_rack(shipped: Validation) -> None:
    """The anchor of round 6.0: 647,076 tokens/s of 72 GB300."""
    (rack,) = (each for each in shipped.answered if each.cells["round"] == "v6.0")
    assert rack.values[0].measured == 647076
    assert rack.values[0].value == pytest.approx(647076, rel=0.15)
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
    assert len(shipped.answered) > 140


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


def test_server_is_less_than_offline_and_says_what_stops_it(tmp_path: Path) -> None:
    offline = validated(tmp_path, {}, {})
    server = validated(tmp_path, {"scenario": "Server"}, {"scenario": "Server"})
    assert 0 < server.values[0].value < 1.05 * offline.values[0].value
    assert server.values[0].apart == "Server"
    assert "highest Poisson load whose p99 TTFT and TPOT hold, by simulation" in server.evidence
    assert "3 % more: " in server.evidence


def test_drafts_of_a_configuration_are_speculated(tmp_path: Path) -> None:
    point = validated(tmp_path, {}, {"spec_decode": "3.0"})
    assert "3 drafts accepted like those of Azure's curve" in point.evidence
    assert validated(tmp_path, {}, {"spec_decode": "x"}).reason == "spec_decode: 'x' is no count"


def test_older_software_is_named_and_by_how_much_it_was_slower(tmp_path: Path) -> None:
    older = validated(tmp_path, {"round": "v5.1"}, {"round": "v5.1"})
    assert "software of the round: more host time a step" in older.evidence
    assert "with today's software 2." in older.evidence
    assert "software of the round" not in validated(tmp_path, {}, {}).evidence


def test_workers_of_prefill_and_decode_make_a_rack(tmp_path: Path) -> None:
    columns = (*CONFIG, "spec_decode", "dynamo_prefill_workers", "dynamo_decode_workers")
    whole = CONFIG | {"tp": "", "ep": "", "scenario": "Interactive", "submitter": "N"}
    whole |= {"dynamo_prefill_workers": "4.0", "dynamo_decode_workers": "4.0"}
    part = CONFIG | {"scenario": "Interactive", "system": "GB300-NVL72"}
    prefill = part | {"file": "disagg_prefill/deepseek-r1.yml", "tp": "2", "ep": "2"}
    decode = part | {"file": "disagg_decode/deepseek-r1.yml", "tp": "16", "ep": "16"}
    configs = write(tmp_path / "c.csv", columns, whole, prefill, decode | {"spec_decode": "3"})
    known = Configurations.read(configs)
    result = RESULT | {"scenario": "Interactive", "n_accelerators": "72"}
    found = known.configured(result)
    assert found is not None
    assert {role: (p.replicas, p.gpus) for role, p in found.pools.items()} == {
        "prefill": (4, 8),
        "decode": (4, 64),
    }
    assert found.pools["decode"].speculation.tokens == 3
    assert found.pools["prefill"].speculation.tokens == 0
    with pytest.raises(BadInput, match="72 GPUs of the workers do not divide 64 GPUs"):
        known.configured(result | {"n_accelerators": "64"})
