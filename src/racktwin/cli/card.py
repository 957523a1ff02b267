"""One thing of the catalog on one screen."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin import catalog, hardware
from racktwin.cli.cluster_card import cluster_card, rack_card
from racktwin.cli.console import table
from racktwin.cli.sources_card import sources_card

Answer = tuple[dict[str, Any], list[RenderableType]]
WORDS = {"switches": "switch", "epochs": "engine"}
RECORDS: dict[str, type[msgspec.Struct]] = {"hosts": hardware.Host, "switches": hardware.Switch}


def card(kind: str, name: str, racks: int | None, nodes: int | None, sources: bool) -> Answer:
    """The JSON answer and the screen for one thing; with sources, of where it is from."""
    if kind == "models":
        answer, screen = _model(name)
    elif kind == "clusters":
        answer, screen = cluster_card(hardware.cluster(name, racks, nodes))
    elif kind == "racks":
        answer, screen = rack_card(hardware.rack(name))
    else:
        answer, screen = _values(catalog.load(kind, name))
    entry = catalog.load(kind, name) if catalog.is_path(name) or kind != "models" else None
    title = str(answer.pop("title", entry.data.get("title", "") if entry else ""))
    shown = entry.name if entry else str(answer.get("name", name))
    if sources and entry:
        facts, screen = sources_card(entry)
        answer |= facts
    head = Text.assemble((shown, "bold"), "   ", title)
    kinds = {"kind": WORDS.get(kind, kind.removesuffix("s")), "name": shown, "title": title}
    return {**kinds, **answer}, [head, "", *screen]


def _values(entry: catalog.Entry) -> Answer:
    if entry.kind == "chips":
        is_gpu = "peak" in entry.data
        record: Any = hardware.chip(entry.name) if is_gpu else hardware.cpu(entry.name)
    else:
        record = entry.build(RECORDS[entry.kind]) if entry.kind in RECORDS else entry.data
    made = table("", "value", "kind", "source", "note")
    for fact in entry.facts():
        made.add_row(fact.key, str(fact.value), fact.kind, fact.source, fact.note)
    return {"values": msgspec.to_builtins(record, enc_hook=float)}, [made]


def _model(name: str) -> Answer:
    """A model's card comes from its own house: title, then figure -> value."""
    from racktwin import models

    if not hasattr(models, "card"):
        return _values(catalog.load("models", name))
    answer: dict[str, Any] = dict(models.card(name))
    made = table("", "")
    for key, value in answer.items():
        if key not in ("name", "title", "kind"):
            _rows(made, key, value)
    return answer, [made]


def _rows(made: Table, key: str, value: Any) -> None:
    """A row for a value; one for each member of a mapping."""
    if isinstance(value, dict):
        for name, member in value.items():
            _rows(made, f"{key} {name}", member)
    elif isinstance(value, list | tuple):
        made.add_row(key, ", ".join(str(each) for each in value))
    else:
        made.add_row(key, f"{value:,}" if isinstance(value, int) else str(value))
