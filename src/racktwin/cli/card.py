"""One thing of the catalog on one screen."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from racktwin import catalog, hardware
from racktwin.catalog import Fact
from racktwin.cli.cluster_card import cluster_card, rack_card
from racktwin.cli.console import table
from racktwin.cli.model_card import model_card
from racktwin.cli.sources_card import facts_card, sources_card

Answer = tuple[dict[str, Any], list[RenderableType]]
WORDS = {"switches": "switch", "epochs": "engine", "facilities": "facility"}
RECORDS: dict[str, type[msgspec.Struct]] = {
    "hosts": hardware.Host,
    "switches": hardware.Switch,
    "facilities": hardware.Facility,
}


def card(kind: str, name: str, racks: int | None, nodes: int | None, sources: bool) -> Answer:
    """The JSON answer and the screen for one thing; with sources, of where it is from."""
    if kind == "models":
        answer, screen = _model(name, sources)
    elif kind == "workloads":
        answer, screen = _workload(name)
        if sources:
            facts, more = sources_card(catalog.load(kind, name))
            answer, screen = answer | facts, [*screen, "", *more]
    else:
        entry = catalog.load(kind, name)
        answer = {"kind": WORDS.get(kind, kind.removesuffix("s")), "name": entry.name}
        figures, screen = _figures(entry, name, racks, nodes)
        answer |= {"title": entry.data.get("title", ""), **figures}
        if sources:
            facts, screen = sources_card(entry)
            answer |= facts
    head = Text.assemble((answer["name"], "bold"), "   ", str(answer["title"]))
    return answer, [head, "", *screen]


def _figures(entry: catalog.Entry, name: str, racks: int | None, nodes: int | None) -> Answer:
    if entry.kind == "clusters":
        return cluster_card(hardware.cluster(name, racks, nodes))
    if entry.kind == "racks":
        return rack_card(hardware.rack(name))
    return _values(entry, name)


def _values(entry: catalog.Entry, name: str) -> Answer:
    if entry.kind == "chips":
        is_gpu = "peak" in entry.data
        record: Any = hardware.chip(name) if is_gpu else hardware.cpu(name)
    else:
        record = entry.build(RECORDS[entry.kind]) if entry.kind in RECORDS else entry.data
    made = table("", "value", "kind", "source", "note")
    for fact in entry.facts():
        key = fact.key.removeprefix("calibrated.")
        made.add_row(key, str(fact.value), fact.kind, fact.source, fact.note)
    return {"values": msgspec.to_builtins(record, enc_hook=float)}, [made]


def _workload(name: str) -> Answer:
    """A workload's card draws from its laws, which take a while to load."""
    from racktwin.cli.workload_card import workload_card

    return workload_card(name)


def _model(name: str, sources: bool) -> Answer:
    """A model's card comes from its own house."""
    from racktwin import models

    found = models.card(name)
    head = {"kind": "model", "name": found["name"], "title": found["title"]}
    facts = [Fact(**{"value": None, **fact}) for fact in found["sources"]]
    screen = facts_card(found["name"], facts) if sources else model_card(found)
    return {**head, "model": found}, screen
