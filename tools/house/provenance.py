"""Sources in the catalog: every number that stands for the world says where it comes from.

A number is written as a fact, {value: 8 TB/s, kind: datasheet, source: nv_bu_blog}, or stands in a
mapping that carries `kind` and `source` for all it holds (a fitted curve, a model's config). A
source is a name of catalog/sources.yaml, or free text with a `date`. What is assumed, or derived
from other facts, may give a note instead of a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from house.tree import Violation, files
from racktwin.catalog.document import Node, read
from racktwin.finding import BadInput

FOLDER = "src/racktwin/catalog/"
KINDS = ("datasheet", "measured", "derived", "assumed")
REASONED = ("derived", "assumed")
WORDS = ("name", "title", "version", "versions", "since", "date", "source", "note", "unit", "kind")
AMOUNT = re.compile(r"\$?[-+]?\.?\d[\d,.]*(e[-+]?\d+)?\s*[A-Za-zµ°%$/]*(/\w+)*", re.IGNORECASE)

Origin = dict[str, str]


def check(root: Path) -> list[Violation]:
    """Every number below src/racktwin/catalog/ has a kind and a source."""
    known = _known(root / FOLDER / "sources.yaml")
    found = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(FOLDER) and path.suffix == ".yaml" and path.name != "sources.yaml":
            try:
                found += _check(name, read(path), known)
            except BadInput as bad:
                found += [Violation(name, each.line or 1, str(each)) for each in bad.findings]
    return found


def _known(path: Path) -> frozenset[str]:
    try:
        return frozenset(read(path).value)
    except BadInput:
        return frozenset()


def _check(name: str, document: Node, known: frozenset[str]) -> list[Violation]:
    return [
        Violation(name, node.line, f"{key} {fault}")
        for key, node, origin in _numbers(document, "", {})
        if (fault := _fault(origin, known))
    ]


def _numbers(node: Node, key: str, origin: Origin) -> Iterator[tuple[str, Node, Origin]]:
    """Every number with its dotted key, and the origin stated nearest to it."""
    if isinstance(node.value, dict):
        origin = origin | _origin(node)
        for name, child in node.value.items():
            if name not in WORDS:
                path = key if name == "value" else f"{key}.{name}" if key else name
                yield from _numbers(child, path, origin)
    elif isinstance(node.value, list):
        for child in node.value:
            yield from _numbers(child, key, origin)
    elif _is_amount(node.value):
        yield key, node, origin


def _origin(node: Node) -> Origin:
    named = {name: node.value.get(name) for name in ("kind", "source", "date", "note")}
    own = {name: str(child.value) for name, child in named.items() if child is not None}
    return {"note": "", **own} if "kind" in own else own


def _is_amount(value: Any) -> bool:
    if isinstance(value, str):
        return bool(AMOUNT.fullmatch(value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fault(origin: Origin, known: frozenset[str]) -> str:
    kind, source = origin.get("kind", ""), origin.get("source", "")
    if kind not in KINDS:
        return f"has kind {kind!r}; expected one of {', '.join(KINDS)}" if kind else "has no kind"
    if not source:
        return "" if kind in REASONED and origin.get("note") else f"is {kind} without a source"
    if source in known or origin.get("date"):
        return ""
    return f"has a source that is not in sources.yaml and has no date: {source[:40]!r}"
