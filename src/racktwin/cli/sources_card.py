"""Where every value of a thing is from, part by part."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from racktwin import catalog
from racktwin.catalog import Entry, Fact

PARTS = ("rack", "host", "chip", "cpu", "switch", "fabric", "site")
COLUMNS = {"value": 14, "kind": 11, "source": 20, "date": 10}  # characters
KEY = 32


def sources_card(entry: Entry) -> tuple[dict[str, Any], list[RenderableType]]:
    """The facts for JSON; a table per part of the thing, then the pages they were read from."""
    facts = all_facts(entry)
    parts: dict[str, list[Fact]] = {}
    for fact in facts:
        parts.setdefault(_part(fact), []).append(fact)
    screen: list[RenderableType] = []
    for part in sorted(parts, key=lambda path: (path.count("."), path)):
        screen += [*_rows(_title(entry, part), part, parts[part]), ""]
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


def _rows(title: str, part: str, facts: list[Fact]) -> list[RenderableType]:
    """The facts of a part, one line each and one for its note."""
    head = f"{title:{KEY}}" + "".join(f"{name:{width}}" for name, width in COLUMNS.items())
    rows: list[RenderableType] = [Text.assemble((head[:KEY], "bold"), (head[KEY:], "dim"))]
    for fact in facts:
        key = fact.key.removeprefix(f"{part}.")
        cells = (str(fact.value), fact.kind, fact.source, fact.date)
        line = "".join(f"{c:{w}}" for c, w in zip(cells, COLUMNS.values(), strict=True))
        rows.append(Text(f"{key:{KEY}}{line}", no_wrap=True, overflow="ellipsis"))
        if fact.note:
            rows.append(Padding(Text(fact.note, style="dim"), (0, 0, 0, KEY)))
    return rows


def _pages(used: dict[str, catalog.Source]) -> list[RenderableType]:
    lines: list[RenderableType] = [Text("sources", style="bold")] if used else []
    for name, page in sorted(used.items()):
        lines.append(Text.assemble((name, "bold"), f"  {page.title}"))
        if page.url:
            lines.append(Text(f"  {page.url}", style="dim", overflow="ignore", no_wrap=True))
    return lines
