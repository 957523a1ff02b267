"""`racktwin power year`: screen, files, exit codes, the JSON it documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

ROOT = Path(__file__).parents[2]
WORDS = ["power", "year", "azure-nd-gb300-v6", "--weather", "phoenix"]


def test_screen(capsys):
    assert main(WORDS) == 0
    said = capsys.readouterr().out
    assert "PUE 1.0" in said
    assert "`power cost` take the cluster file's 1.15" in said
    assert "0 mW" not in said


def test_keys_are_documented(capsys):
    assert main([*WORDS, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "racktwin/power-year/1"
    assert answer["site_pue"] == 1.15
    assert set(printed(answer)) - {"schema"} <= documented(ROOT, "power year")


def test_files(tmp_path, capsys):
    folder, chart = tmp_path / "out", tmp_path / "pue.svg"
    assert main([*WORDS, "--out", str(folder), "--svg", str(chart)]) == 0
    assert "wrote" in capsys.readouterr().out
    rows = (folder / "year.csv").read_text().splitlines()
    assert len(rows) == 8761
    assert rows[0].startswith("hour,dry_bulb_c,wet_bulb_c,junction_c,supply_c")
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "A year of Microsoft Azure ND GB300 v6 in Phoenix, Arizona" in page
    assert chart.read_text().startswith("<svg")


def test_a_plant_that_is_short_says_so_and_exits_1(tmp_path, capsys):
    plant = tmp_path / "dry.yaml"
    plant.write_text("extends: warm-water\nliquid: {chiller: 0.0}\n")
    assert main([*WORDS, "--plant", str(plant)]) == 1
    said = capsys.readouterr().out
    assert "short: dry coolers, no chillers, of the liquid side:" in said


@pytest.mark.parametrize("word", ["--weather", "--plant"])
def test_bad_words_exit_2(word, capsys):
    assert main(["power", "year", "azure-nd-gb300-v6", word, "nowhere"]) == 2
    assert f"{word}: 'nowhere' is not known" in capsys.readouterr().err
