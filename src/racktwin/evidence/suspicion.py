"""Doubts about published rows: data/suspicious.yaml, made once from the data itself."""

from __future__ import annotations

from collections.abc import Mapping

from racktwin.evidence import data
from racktwin.evidence.condition import matches
from racktwin.evidence.measurement import Doubt


def doubts(row: Mapping[str, str]) -> tuple[Doubt, ...]:
    """Every doubt that concerns a row."""
    return tuple(
        Doubt(rule["name"], tuple(rule["of"]), rule["reason"])
        for rule in data.load("suspicious")["rules"]
        if matches(rule["where"], row)
    )
