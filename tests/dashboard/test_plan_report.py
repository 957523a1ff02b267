"""The page of a plan: self-contained, well formed, true to the plan, safe to open."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from racktwin import catalog
from racktwin.dashboard.plan_report import plan_report
from racktwin.planning.plan import Plan, plan
from racktwin.planning.wish import Wish, asks

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<img src=x onerror=alert(1)>"


class Balance(HTMLParser):
    """Open tags, in order; `faults` when one is closed out of turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def planned(name: str = "llama-3.1-8b", on: str = "hgx-b200", **wish: object) -> Plan:
    return plan(asks(name, [on], 2000, 400, Wish(**{"gpus": 8, **wish}))[0])  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _fixed(fixed_intervals: None) -> None:
    """Every report here takes the same intervals."""


@pytest.fixture
def found() -> Plan:
    return planned(tpot="30ms")


def test_nothing_is_loaded_from_elsewhere(found: Plan) -> None:
    page = plan_report(found)
    for word in ("<script", "<link", "<img", "<iframe", "@import", "url(", " src=", " href="):
        assert word not in page
    namespaces = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http:" not in namespaces
    assert "https:" not in namespaces


def test_tags_are_balanced_and_charts_are_xml(found: Plan) -> None:
    page = plan_report(found)
    parser = Balance()
    parser.feed(page)
    assert not parser.faults
    assert not parser.open
    charts = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(charts) == parser.seen.count("svg") == 5
    for chart in charts:
        ET.fromstring(chart)


def test_the_figures_of_the_choice_are_there(found: Plan) -> None:
    page, best = plan_report(found), found.best
    for text in (
        f"{best.output_rate.value:,.0f}",
        f"{best.tpot.value * 1e3:,.1f} ms",
        f"{best.ttft.value:,.2f} s",
        f"${best.cost.value:,.2f}",
        f"{best.deployment.copies:,} copies",
        best.limit,
        "a fixed interval of tpot",
        found.ask.price_note,
        f"{found.candidates:,} deployments",
    ):
        assert str(text) in page
    for choice in found.choices:
        assert choice.deployment.title in page
    for part in best.parts:
        assert part in page
    for pool in best.memory.values():
        assert f"{pool.weights / 1e9:,.1f}" in page


def test_an_interval_wider_than_its_value_shows_its_ends(found: Plan) -> None:
    best = found.best
    ttft = msgspec.structs.replace(best.ttft, low=0.05, high=9.5)
    tpot = msgspec.structs.replace(best.tpot, low=0.003, high=0.8)
    wide = msgspec.structs.replace(best, ttft=ttft, tpot=tpot)
    page = plan_report(msgspec.structs.replace(found, choices=(wide,)))
    assert page.count("0.05 to 9.5") == 2  # headline and ranking
    assert page.count("3 to 800") == 2  # in ms, as the value


def test_limits_nothing_meets_are_said_on_top() -> None:
    page = plan_report(planned(tpot="1us"))
    assert "Nothing meets the limits" in page
    assert "Nothing meets the limits" not in plan_report(planned())


def test_names_from_files_are_shown_and_not_run(tmp_path: Path) -> None:
    folder = tmp_path / EVIL
    folder.mkdir()
    config = catalog.load("models", "llama-3.1-8b").data["config"]
    (folder / "config.json").write_text(json.dumps(config))
    cluster = tmp_path / "mine.yaml"
    title = "<script>alert(2)</script>"
    cluster.write_text(f'extends: hgx-b200\ntitle: "{title}"\n')
    page = plan_report(planned(str(folder / "config.json"), str(cluster)))
    assert EVIL not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert title not in page
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in page
    parser = Balance()
    parser.feed(page)
    assert not {"script", "img"} & set(parser.seen)
