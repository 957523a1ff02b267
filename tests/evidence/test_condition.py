"""Conditions of the rules in evidence/data."""

from __future__ import annotations

import pytest

from racktwin.evidence import data
from racktwin.evidence.cells import COLUMNS
from racktwin.evidence.condition import matches, number


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({}, True),
        ({"a": "x"}, True),
        ({"a": ["y", "x"]}, True),
        ({"a": {"like": "[w-z]"}}, True),
        ({"a": {"like": ["q*", "?"]}}, True),
        ({"n": 8}, True),
        ({"n": {"min": 8, "max": 8}}, True),
        ({"n": {"min": 9}}, False),
        ({"a": {"min": 0}}, False),
        ({"empty": ""}, True),
        ({"missing": ""}, True),
        ({"a": "x", "n": 7}, False),
    ],
)
def test_conditions(where: dict[str, object], holds: bool) -> None:
    assert matches(where, {"a": "x", "n": "8.0", "empty": ""}) is holds


@pytest.mark.parametrize(
    ("text", "value"), [("8.0", 8.0), ("", None), ("nan", None), ("inf", None)]
)
def test_numbers_are_finite(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize("name", ["launch", "suspicious"])
def test_rules_speak_of_columns_that_exist_and_carry_a_date(name: str) -> None:
    for rule in data.load(name)["rules"]:
        assert set(rule["where"]) <= set(COLUMNS), rule["name"]
        assert rule["date"] == "2026-11-30"
        assert rule.get("reason") or rule.get("source")
