"""Entries: one thing of the catalog, or a user's file that extends one."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from racktwin.catalog.document import FACT_KEYS, Node, leaves, read
from racktwin.catalog.shape import build
from racktwin.finding import BadInput, Finding, unknown

HERE = Path(__file__).parent
DEEPEST = 8  # files that extend one another
T = TypeVar("T")

Kind = Literal["datasheet", "measured", "derived", "assumed", "given"]


class Fact(msgspec.Struct, frozen=True):
    """A value and where it is from.

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
    file: str
    line: int


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
        return next(each for each in self.facts() if each.key == key)

    def facts(self) -> list[Fact]:
        """Every value of the entry with its origin."""
        return [_fact(key, node) for key, node in leaves(self.node)]


def _fact(key: str, node: Node) -> Fact:
    plain = {k: n.plain() for k, n in node.value.items()} if node.is_fact else {}
    own = not node.file.startswith(str(HERE))
    return Fact(
        key=key,
        value=plain.get("value", node.value if not node.is_fact else None),
        kind=plain.get("kind", "given" if own else "assumed"),
        source=plain.get("source", Path(node.file).name if own else ""),
        date=str(plain.get("date", "")),
        note=plain.get("note", ""),
        file=node.file,
        line=node.line,
    )


def names(kind: str) -> list[str]:
    """Names of the entries of a kind, sorted; empty when there are none."""
    return sorted(path.stem for path in (HERE / kind).glob("*.yaml"))


def load(kind: str, name: str | Path) -> Entry:
    """An entry by its name, or a user's YAML file by its path; what it extends is filled in."""
    if is_path(name):
        return Entry(kind, Path(name).stem, _extended(kind, Path(name), ()))
    return _shipped(kind, str(name))


def is_path(name: str | Path) -> bool:
    """Whether a name means a file rather than a thing of the catalog."""
    return isinstance(name, Path) or name.endswith((".yaml", ".yml")) or "/" in name


@functools.cache
def _shipped(kind: str, name: str) -> Entry:
    known = {each.lower(): each for each in names(kind)}
    if name.lower() not in known:
        raise BadInput([unknown(kind.removesuffix("s"), name, known.values())], "catalog")
    found = known[name.lower()]
    return Entry(kind, found, _extended(kind, HERE / kind / f"{found}.yaml", ()))


def _extended(kind: str, path: Path, trail: tuple[Path, ...]) -> Node:
    node = read(path)
    base = node.get("extends")
    _check_facts(node)
    if base is None:
        return node
    name = base.value
    if not isinstance(name, str):
        raise BadInput(
            [Finding("extends", "expected the name of an entry or a file", base.line)], str(path)
        )
    trail = (*trail, path.resolve())
    if is_path(name):
        parent = (path.parent / name).resolve()
        if parent in trail or len(trail) > DEEPEST:
            chain = " -> ".join(each.name for each in (*trail, parent))
            raise BadInput(
                [Finding("extends", f"goes round in a circle: {chain}", base.line)], str(path)
            )
        under = _extended(kind, parent, trail)
    elif name in names(kind):
        under = _shipped(kind, name).node
    else:
        raise BadInput([unknown("extends", name, names(kind), base.line)], str(path))
    own = {key: child for key, child in node.value.items() if key != "extends"}
    return merge(under, Node(own, node.file, node.line))


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
    findings = [
        unknown(f"{key}.{name}", name, FACT_KEYS, child.line)
        for key, leaf in leaves(node)
        if leaf.is_fact
        for name, child in leaf.value.items()
        if name not in FACT_KEYS
    ]
    if findings:
        raise BadInput(findings, node.file)
