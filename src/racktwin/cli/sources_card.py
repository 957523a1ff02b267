"""Where every value of a thing is from, part by part."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from racktwin import catalog
from racktwin.catalog import Entry, Fact

PARTS = ("rack", "host", "chip", "cpu", "switch", "fabric", "facility", "site")
COLUMNS = {"value": 18, "kind": 11, "date": 12, "source": 24}  # characters
KEY = 30


def sources_card(entry: Entry) -> tuple[dict[str, Any], list[RenderableType]]:
    """The facts for JSON; a table per part of the thing, then the pages they were read from."""
    facts = all_facts(entry)
    parts: dict[str, list[Fact]] = {}
    for fact in facts:
        parts.setdefault(_part(fact), []).append(fact)
    screen: list[RenderableType] = []
    for part in sorted(parts, key=lambda path: (path.count("."), path)):
        screen += facts_card(_title(entry, part), parts[part], part)
    known = catalog.sources()
    used = {fact.source: known[fact.source] for fact in facts if fact.source in known}
    answer = {"facts": msgspec.to_builtins(facts), "sources": msgspec.to_builtins(used)}
    return answer, [*screen, *_pages(used)]


def all_facts(entry: Entry) -> list[Fact]:
    """The facts of an entry; for a cluster without a price of its own also the default."""
    facts = entry.facts()
    if entry.kind == "clusters" and not any(fact.key == "price" for fact in facts):
        chip = entry.data["rack"]["host"]["chip"]["name"]
        facts += [msgspec.structs.replace(fact, key="price")
                  for fact in catalog.load("prices", chip).facts()]  # fmt: skip
    return facts


def _part(fact: Fact) -> str:
    """The dotted path of the part that a fact describes ('rack.host.chip')."""
    words = fact.key.split(".")
    last = max((i for i, word in enumerate(words[:-1], 1) if word in PARTS), default=0)
    return ".".join(words[:last])


def _title(entry: Entry, part: str) -> str:
    """What the part is called: 'rack.host.chip: gb300'."""
    data = entry.data
    for word in part.split(".") if part else ():
        data = data[word]
    return f"{part}: {data['name']}" if part and "name" in data else part or entry.name


def facts_card(title: str, facts: list[Fact], part: str = "") -> list[RenderableType]:
    """The facts of a part, one line each and one below it for its note."""
    head = "".join(f"{name:{width}}" for name, width in COLUMNS.items())
    rows: list[RenderableType] = [Text.assemble((f"{title:{KEY}}", "bold"), (head, "dim"))]
    for fact in facts:
        long = len(fact.source) > COLUMNS["source"]
        cells = (_value(fact.value), fact.kind, fact.date, "" if long else fact.source)
        line = "".join(f"{c:{w}}" for c, w in zip(cells, COLUMNS.values(), strict=True))
        rows.append(Text(f"{fact.key.removeprefix(f'{part}.'):{KEY}}{line}".rstrip()))
        for below in (fact.source if long else "", fact.note):
            if below:
                rows.append(Padding(Text(below, style="dim"), (0, 0, 0, KEY)))
    return [*rows, ""]


def _value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and value >= 1000:
        value = int(value)
    return "" if value is None else f"{value:,}" if type(value) is int else str(value)


def _pages(used: dict[str, catalog.Source]) -> list[RenderableType]:
    lines: list[RenderableType] = [Text("sources", style="bold")] if used else []
    for name, page in sorted(used.items()):
        lines.append(Text.assemble((name, "bold"), f"  {page.title}"))
        if page.url:
            lines.append(Text(f"  {page.url}", style="dim", overflow="ignore", no_wrap=True))
    return lines
