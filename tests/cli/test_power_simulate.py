"""`racktwin power simulate`: screen, files, exit codes, the JSON it documents."""

from __future__ import annotations

import json
from pathlib import Path

from tests.json_page import documented, printed

from racktwin.cli import main

ROOT = Path(__file__).parents[2]
FILE = str(ROOT / "examples/deepseek-r1-gb300-disaggregated.yaml")
LOAD = ["--input", "8192", "--output", "1024"]
WORDS = ["power", "simulate", FILE, *LOAD, "--weather", "phoenix"]


def test_screen_and_files(tmp_path, capsys):
    assert main([*WORDS, "--cap", "80kW", "--out", str(tmp_path / "day")]) == 0
    said = capsys.readouterr().out
    assert "8,192 in / 1,024 out, a typical day (assumed)" in said
    assert "80 kW a rack; the most was" in said
    rows = (tmp_path / "day/day.csv").read_text().splitlines()
    assert len(rows) == 1441
    assert (tmp_path / "day/report.html").read_text().count("<svg") == 4


def test_keys_are_documented(capsys):
    assert main([*WORDS, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(printed(answer)) - {"schema"} <= documented(ROOT, "power simulate")
    assert answer["rack_watts_most"] < 142e3
    assert answer["requests_served"] <= answer["requests_asked"]


def test_more_than_it_carries_exits_1(capsys):
    assert main([*WORDS, "--rate", "7000/s"]) == 1
    assert "requests still wait at the end" in capsys.readouterr().out


def test_all_faults_at_once(capsys):
    assert (
        main(["power", "simulate", FILE, "--weather", "phoenx", "--days", "0", "--plant", "x"]) == 2
    )
    said = capsys.readouterr().err
    for key in (
        "--weather: 'phoenx'",
        "--days: expected 1 to 366",
        "--plant: 'x'",
        "--input: give",
    ):
        assert key in said
    assert main(["power", "simulate", "none.yaml", *LOAD, "--weather", "phoenix"]) == 2
    assert "DEPLOYMENT: none.yaml" in capsys.readouterr().err


def test_zero_and_twice_are_refused(capsys):
    assert main([*WORDS, "--cap", "0W"]) == 2
    assert "--cap: 0 mW is below the" in capsys.readouterr().err
    assert main([*WORDS, "--peak", "0"]) == 2
    assert "--peak: expected more than 0, found 0" in capsys.readouterr().err
    assert main([*WORDS, "--weather", "dublin"]) == 2
    assert "--weather: is given twice" in capsys.readouterr().err


def test_negative_prices_are_paid_out(capsys):
    assert main([*WORDS, "--tariff=-$5/MWh"]) == 0
    assert "electricity    -$" in capsys.readouterr().out
