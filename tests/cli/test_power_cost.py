"""`racktwin power cost`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

ROOT = Path(__file__).parents[2]
FILE = str(ROOT / "examples/deepseek-r1-gb300-disaggregated.yaml")
WORDS = ["power", "cost", FILE, "--input", "8192", "--output", "1024", "--concurrency", "64000"]


def test_screen(capsys):
    assert main(WORDS) == 0
    assert "$/Mtok output, owned" in capsys.readouterr().out


def test_keys_are_documented(capsys):
    assert main([*WORDS, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(printed(answer)) - {"schema"} <= documented(ROOT, "power cost")


def test_bad_words_all_at_once(capsys):
    assert main([*WORDS, "--tariff", "dear", "--carbon", "-5g/kWh"]) == 2
    said = capsys.readouterr().err
    assert "power cost: 2 findings" in said
    assert "--tariff: 'dear' is not a number with a unit" in said
    assert "--carbon: '-5g/kWh' is out of range" in said


def test_a_file_by_hour_counts_with_its_mean(tmp_path, capsys):
    """Hours 0 to 23 cost 0 to 23 $/MWh and emit ten times that in g/kWh: 11.5 and 115."""
    paid, emitted = tmp_path / "paid.csv", tmp_path / "emitted.csv"
    paid.write_text("$/MWh\n" + "\n".join(map(str, range(24))))
    emitted.write_text("g/kWh\n" + "\n".join(str(10 * each) for each in range(24)))
    assert main([*WORDS, "--tariff", str(paid), "--carbon", str(emitted), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tariff_per_kwh"] == pytest.approx(0.0115)
    assert answer["carbon_kg_per_kwh"] == pytest.approx(0.115)


def test_money_below_zero_and_whose_pue(capsys):
    assert main([*WORDS, "--tariff", "$-0.05/kWh"]) == 0
    said = capsys.readouterr().out
    assert "PUE 1.15, -$0.05/kWh" in said
    assert "the PUE is the cluster file's" in said


def test_an_hour_that_earns_money_keeps_the_order_of_its_interval(capsys):
    assert main([*WORDS, "--tariff", "$-10/kWh", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for key in ("own_input_per_mtok", "own_output_per_mtok"):
        each = answer[key]
        assert each["low"] < each["value"] < each["high"] < 0
