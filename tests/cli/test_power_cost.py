"""`racktwin power cost`."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_bad_words(capsys):
    assert main([*WORDS, "--tariff", "dear"]) == 2
    assert "--tariff: 'dear' is not a number with a unit" in capsys.readouterr().err
