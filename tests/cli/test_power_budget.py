"""`racktwin power budget`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

CLUSTER = "azure-nd-gb300-v6"


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["power", "budget", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["power", "budget", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_the_screen_fits_and_says_what_binds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "budget", CLUSTER]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    assert "power shelves, 102.2% of 132 kW when one of 2 feeds is lost" in text
    assert "GPUs capped at 1.359 kW fit (of 1.4 kW)" in text
    assert [line.split()[-4:-1] for line in lines if "GB300  " in line and "│" in line] == [
        ["1.4", "kW", "6.45"]
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, CLUSTER, "--load", "70%", "--fail", "feed:a")
    assert found["schema"] == "racktwin/power-budget/1"
    assert found["load"] == pytest.approx(0.7)
    assert found["failed"] == ["feed:a"]
    assert found["tree"][0]["watts"] == pytest.approx(found["site_watts"])
    assert {each["watts_feed_lost"] for each in found["limits"]} == {None}
    assert set(printed(found)) - {"schema"} == documented(Path(__file__).parents[2], "power budget")


def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["power", "budget", CLUSTER, "--racks", "4", "--out", str(tmp_path / "p")]) == 0
    written = {path.name: path.read_text() for path in (tmp_path / "p").glob("*.*")}
    svg = ElementTree.fromstring(written["power.svg"])
    words = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "gb300-nvl72 x 4" in words
    assert json.loads(written["power.json"])["racks"] == 4
    assert "power shelves" in written["report.html"]
    assert "Overloaded" in written["report.html"]


def test_every_finding_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--load",
        "9",
        "--cap",
        "2kW",
        "--budget",
        "rak=15kW,site=1M",
        "--fail",
        "feed:C,rwo:1/A",
    ]
    said = refused(capsys, CLUSTER, *words)
    assert said.startswith("power budget: 6 findings")
    assert "did you mean 'rack'?" in said
    assert "'site=1M': '1M': 'M' is not a unit of watts; did you mean '1 MW'?" in said
    assert "GB300 draws 205 W idle, 1.4 kW at most" in said
    assert "'feed:C': expected feed:A or feed:B" in said
    assert "'rwo' is not known; did you mean 'row'?" in said
    assert "expected idle, full or a share, found '9'" in said


def test_budgets_below_idle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On the command line, and in a file with the lines they stand on."""
    said = refused(capsys, CLUSTER, "--budget", "rack=15kW,site=9MW")
    assert "rack: 15 kW is below the 37.2 kW that it draws idle" in said
    path = tmp_path / "mine.yaml"
    path.write_text(
        "extends: azure-nd-gb300-v6\nfacility:\n  budgets:\n    rack: 20 kW\n    site: 1 MW\n"
    )
    said = refused(capsys, str(path))
    assert f"{path}: 2 findings" in said
    assert "line 4   facility.budgets.rack: rack: 20 kW is below the 37.2 kW" in said
    assert "line 5   facility.budgets.site: site: 1 MW is below" in said


def test_a_chain_that_does_not_add_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "extends: azure-nd-gb300-v6\nfacility:\n  feeds: 9\n  stages:\n"
        "  - {name: pdu, racks: 2, rating: 450 kW, series: 1 %, curve: {load: [0.5, 0.4],"
        " efficiency: [0.9, 0.9]}}\n"
        "  - {name: row, racks: 7, rating: 1 MW}\n"
        "  budgets: {rwo: 1 MW}\n"
    )
    said = refused(capsys, str(path))
    for expected in (
        "line 3   facility.feeds: expected 1 to 8, found 9",
        "line 5   facility.stages[0].curve.load: expected ascending loads above 0",
        "line 5   facility.stages[0].curve: give a curve, or standing and series, not both",
        "line 6   facility.stages[1].racks: 7 racks are not whole units of the stage below (2",
        "line 7   facility.budgets.rwo: 'rwo' is not known; did you mean 'row'?",
    ):
        assert expected in said


def test_a_wrong_unit_in_a_chain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: azure-nd-gb300-v6\nfacility: {budgets: {site: 9 MWh}, fedes: 2}\n")
    said = refused(capsys, str(path))
    assert "facility.budgets.site: '9 MWh': 'MWh' is not a unit of watts" in said
    assert "'fedes' is not known; did you mean 'feeds'?" in said


def test_a_cap_of_a_rack_is_sent_to_its_budget(capsys):
    assert main(["power", "budget", "azure-nd-gb300-v6", "--cap", "110kW"]) == 2
    assert "1.4 kW at most; for a rack, --budget rack=120kW" in capsys.readouterr().err
