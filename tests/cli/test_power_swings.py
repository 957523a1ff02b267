"""`racktwin power swings`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

CLUSTER = "azure-nd-gb300-v6"


def test_the_screen_fits_and_judges(capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--ramp-limit", "5MW/s", "--range-limit", "6MW", "--band-limit", "100kW"]
    assert main(["power", "swings", CLUSTER, "--seconds", "20", *limits]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "limits      as it is: exceeds ramp and range and band" in lines
    assert "            both: exceeds band" in lines


def test_json_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["power", "swings", CLUSTER, "--seconds", "12", "--out", str(tmp_path / "s"), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "racktwin/power-swings/1"
    root = Path(__file__).parents[2]
    assert set(printed(found)) - {"schema"} == documented(root, "power swings")
    for name in ("power.svg", "spectrum.svg"):
        svg = ElementTree.fromstring((tmp_path / "s" / name).read_text())
        assert len(list(svg.iter("{http://www.w3.org/2000/svg}polyline"))) == 4
    assert "Spectrum" in (tmp_path / "s" / "report.html").read_text()
    assert json.loads((tmp_path / "s" / "swings.json").read_text()) == found


def test_every_finding_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--work", "trainin", "--step", "0s", "--low", "90%", "--high", "50%", "--cap", "300W"]
    words += ["--ramp-limit", "5MW", "--seconds", "1", "--floor", "2"]
    assert main(["power", "swings", CLUSTER, *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("power swings: 7 findings")
    for expected in (
        "'trainin' is not known; did you mean 'training'?",
        "--step: 0 s is out of range",
        "--low: 90 % is above 50 %, the high power",
        "--floor: '2' is out of range; did you mean '2 %'?",
        "--cap: 300 W is below the floor of 1.12 kW; lower --floor too",
        "--ramp-limit: '5MW' is no rate; write '5 MW/s'",
        "--seconds: expected 10 to 600 s, found 1",
    ):
        assert expected in said.err
