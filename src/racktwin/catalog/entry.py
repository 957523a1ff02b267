"""Entries: one thing of the catalog, or a user's file that extends one."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from racktwin.catalog import home
from racktwin.catalog.document import FACT_KEYS, Node, leaves, read
from racktwin.catalog.shape import build
from racktwin.catalog.source import sources
from racktwin.finding import BadInput, Finding, unknown

HERE = Path(__file__).parent
TABLES = ("prices", "sources")  # kinds whose entries stand in one file
REFERENCES = {"chip": "chips", "cpu": "chips", "host": "hosts", "rack": "racks"}
REFERENCES |= {"switch": "switches", "facility": "facilities"}
REFERRING = ("hosts", "racks", "clusters")  # kinds whose entries refer to others
AMOUNTS = ("budgets",)  # mappings whose keys are names of levels, not references
DEEPEST = 8  # files that extend one another
T = TypeVar("T")

Kind = Literal["datasheet", "measured", "derived", "assumed", "given"]


class Fact(msgspec.Struct, frozen=True):
    """A value, as written, and where it is from; date is the fact's own or its source's.

    kind: 'datasheet' (maker, operator or a summary of them), 'measured', 'derived' (arithmetic on
    other facts), 'assumed' (nobody published it; the note says why this value), 'given' (by the
    user's own file).
    """

    key: str
    value: Any
    kind: Kind
    source: str
    date: str
    note: str


class Entry(msgspec.Struct, frozen=True):
    """A described thing: kind 'chips', name 'gb300', and its document."""

    kind: str
    name: str
    node: Node

    @property
    def data(self) -> dict[str, Any]:
        """Plain Python data, facts reduced to their values, quantities still as text."""
        return dict(self.node.plain())

    def build(self, shape: type[T], skip: tuple[str, ...] = ()) -> T:
        """The record of type `shape`; BadInput with every finding."""
        return build(self.node, shape, skip)

    def fact(self, key: str) -> Fact:
        """The fact at a dotted key ('peak.nvfp4'); KeyError when there is none."""
        return {each.key: each for each in self.facts()}[key]

    def line(self, key: str) -> int | None:
        """Line of a dotted key ('stages[1].racks') in the entry's own file, or of what is around.

        None where all of it stands in another file.
        """
        node, line = self.node, None
        for word in key.replace("[", ".").replace("]", "").split("."):
            listed = isinstance(node.value, list) and word.isdigit() and int(word) < len(node.value)
            inner = node.value[int(word)] if listed else node.get(word)
            if inner is None:
                break
            node = inner
            line = node.line if node.file == self.node.file else line
        return line

    def facts(self) -> list[Fact]:
        """Every value with its origin: facts of the catalog, and all a user's file says."""
        return [
            _fact(key, node)
            for key, node in leaves(self.node)
            if node.is_fact or not _is_shipped(node)
        ]


def _is_shipped(node: Node) -> bool:
    return node.file.startswith(str(HERE))


def _fact(key: str, node: Node) -> Fact:
    plain = {k: n.plain() for k, n in node.value.items()} if node.is_fact else {}
    shipped = _is_shipped(node)
    source = plain.get("source", "" if shipped else Path(node.file).name)
    page = sources().get(source)
    return Fact(
        key=key,
        value=plain.get("value") if node.is_fact else node.value,
        kind=plain.get("kind", "assumed" if shipped else "given"),
        source=source,
        date=str(plain.get("date") or (page.date if page else "")),
        note=plain.get("note", ""),
    )


def names(kind: str) -> list[str]:
    """Names of the entries of a kind, sorted; empty when there are none."""
    if kind in TABLES:
        return sorted(_table(kind).value)
    return sorted(path.stem for path in (HERE / kind).glob("*.yaml"))


def load(kind: str, name: str | Path) -> Entry:
    """An entry by its name, or a user's YAML file by its path.

    What it extends is filled in, and what it refers to (`chip: gb300`) stands in its place. What
    ships goes before what the user keeps under the same name.
    """
    if is_path(name):
        return Entry(kind, Path(name).stem, _file(kind, Path(name), ()))
    if is_own(kind, str(name)):
        path = home.file(kind, str(name).lower())
        return Entry(kind, path.stem, _file(kind, path, ()))
    return _shipped(kind, str(name))


def is_own(kind: str, name: str) -> bool:
    """Whether `name` means an entry that the user keeps."""
    own = home.own(kind) if kind in home.KINDS else ()
    return name.lower() in own and name.lower() not in names(kind)


def is_path(name: str | Path) -> bool:
    """Whether a name means a file rather than a thing of the catalog."""
    return isinstance(name, Path) or name.endswith((".yaml", ".yml", ".json")) or "/" in name


@functools.cache
def _shipped(kind: str, name: str) -> Entry:
    known = {each.lower(): each for each in names(kind)}
    if name.lower() not in known:
        every = [*known.values(), *home.own(kind)]
        raise BadInput([unknown(kind.removesuffix("s"), name, every)], "catalog")
    found = known[name.lower()]
    if kind in TABLES:
        return Entry(kind, found, _table(kind).value[found])
    return Entry(kind, found, _file(kind, HERE / kind / f"{found}.yaml", ()))


@functools.cache
def _table(kind: str) -> Node:
    return read(HERE / f"{kind}.yaml")


def _file(kind: str, path: Path, trail: tuple[Path, ...]) -> Node:
    """The document at `path` with everything it extends and refers to."""
    node = read(path)
    _check_facts(node)
    trail = (*trail, Path(os.path.realpath(path)))
    base = node.get("extends")
    if base is not None:
        under = _named(kind, base, "extends", trail)
        own = {key: child for key, child in node.value.items() if key != "extends"}
        node = merge(under, Node(own, node.file, node.line))
    return _refer(node, trail) if kind in REFERRING else node


def _named(kind: str, node: Node, key: str, trail: tuple[Path, ...]) -> Node:
    """The document that the name or path in `node` means."""
    here = Path(node.file)
    fault = None
    if not isinstance(node.value, str) or not node.value.isprintable():
        fault = Finding(key, f"expected a name or a file, found {node.plain()!r}", node.line)
    elif is_path(node.value):
        path = Path(os.path.realpath(here.parent / node.value))
        if path not in trail and len(trail) < DEEPEST:
            return _file(kind, path, trail)
        circle = " -> ".join(each.name for each in (*trail, path))
        fault = Finding(key, f"goes round in a circle: {circle}", node.line)
    elif node.value.lower() not in names(kind):
        fault = unknown(key, node.value, names(kind), node.line)
    else:
        return _shipped(kind, node.value).node
    raise BadInput([fault], node.file)


def _refer(node: Node, trail: tuple[Path, ...]) -> Node:
    """`node` with every name of another entry replaced by that entry."""
    if not isinstance(node.value, dict) or node.is_fact:
        return node
    members = {}
    for key, child in node.value.items():
        kind = REFERENCES.get(key)
        if kind and isinstance(child.value, str):
            try:
                found = _named(kind, child, key, trail)
            except BadInput as fault:  # kept in place, so that all findings come at once
                members[key] = Node(fault, child.file, child.line)
                continue
            named = Path(child.value).stem if is_path(child.value) else child.value.lower()
            name = Node(named, child.file, child.line)
            members[key] = Node({"name": name} | found.value, found.file, found.line)
        else:
            members[key] = child if key in AMOUNTS else _refer(child, trail)
    return Node(members, node.file, node.line)


def merge(under: Node, over: Node) -> Node:
    """`over` laid on `under`: mappings member by member, everything else replaced."""
    both = isinstance(under.value, dict) and isinstance(over.value, dict)
    if not both or under.is_fact or over.is_fact:
        return over
    members = dict(under.value)
    for key, child in over.value.items():
        members[key] = merge(members[key], child) if key in members else child
    return Node(members, over.file, over.line)


def _check_facts(node: Node) -> None:
    findings = []
    for key, leaf in leaves(node):
        if not leaf.is_fact:
            continue
        for name, child in leaf.value.items():
            if name not in FACT_KEYS:
                findings.append(unknown(f"{key}.{name}", name, FACT_KEYS, child.line))
        kind = leaf.get("kind")
        if kind and kind.value not in get_args(Kind):
            findings.append(unknown(f"{key}.kind", str(kind.value), get_args(Kind), kind.line))
    if findings:
        raise BadInput(findings, node.file)
