"""`racktwin power lose`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

ROOT = Path(__file__).parents[2]
WORDS = ["power", "lose", "azure-nd-gb300-v6", "--lose"]


def test_screen_chart_and_exit_code(tmp_path, capsys):
    assert main([*WORDS, "pumps", "--svg", str(tmp_path / "a.svg")]) == 1
    assert "GPUs throttle: after" in capsys.readouterr().out
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert main([*WORDS, "exchangers:1"]) == 0
    assert "GPUs throttle: not within 1,800 s" in capsys.readouterr().out


def test_keys_are_documented(capsys):
    assert main([*WORDS, "pumps", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert set(printed(answer)) - {"schema"} <= documented(ROOT, "power lose")


def test_all_faults_at_once(capsys):
    assert main([*WORDS, "pmps", "--outdoor", "99C", "--humidity", "2", "--plant", "x"]) == 2
    said = capsys.readouterr().err
    for each in ("--outdoor: expected -60 to 60", "--humidity: '2'", "--plant: 'x'"):
        assert each in said


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("pumps:0", "--lose: 'pumps:0': pumps are lost together"),
        ("pumps,pumps", "--lose: 'pumps' is given twice"),
        ("coolers:1,coolers:2", "--lose: 'coolers' is given twice"),
    ],
)
def test_losses_are_read_to_the_letter(lost, said, capsys):
    assert main([*WORDS, lost]) == 2
    assert said in capsys.readouterr().err


def test_what_a_plant_does_not_have_cannot_be_lost(tmp_path, capsys):
    plant = tmp_path / "dry.yaml"
    plant.write_text("extends: warm-water\nliquid: {chiller: 0.0}\n")
    assert main([*WORDS, "chillers", "--plant", str(plant)]) == 2
    assert "--lose: 'chillers': the plant has no chillers" in capsys.readouterr().err
