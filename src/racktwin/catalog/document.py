"""YAML text -> nodes that know their file and line.

Scalars follow YAML 1.2: `1e9` is a number, `no` and `1:30` are text. Tags, anchors, double keys
and oversized files are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from racktwin.finding import BadInput, Finding

DEEPEST = 24  # mappings in mappings
LARGEST = 1 << 20  # bytes; a description of a machine or a deployment is a few kB
FACT_KEYS = ("value", "unit", "kind", "source", "date", "note")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a terminal would obey
PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


class Node(msgspec.Struct, frozen=True):
    """A value of a document: a scalar, a list of nodes or a dict of nodes.

    A name or file that could not be followed is kept as its BadInput until a record is built.
    """

    value: Any
    file: str
    line: int

    @property
    def is_fact(self) -> bool:
        """Whether this is a value written with its source: {value: ..., source: ...}."""
        return isinstance(self.value, dict) and "value" in self.value

    def plain(self) -> Any:
        """Plain Python data; facts are reduced to their values."""
        if self.is_fact:
            return self.value["value"].plain()
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def get(self, key: str) -> Node | None:
        """The member called `key` of a mapping."""
        return self.value.get(key) if isinstance(self.value, dict) else None


class _Loader(yaml.CSafeLoader):  # type: ignore[misc, unused-ignore]
    """libyaml with the scalar rules of YAML 1.2 (core schema)."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})$"), _first
    )


def read(path: str | Path) -> Node:
    """The document in a file; BadInput when it cannot be read or is no mapping."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise BadInput([Finding("file", f"cannot be read: {reason}")], str(path)) from error
    if len(raw) > LARGEST:
        raise BadInput([Finding("file", f"is larger than {LARGEST >> 20} MiB")], str(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise BadInput([Finding("file", "is not UTF-8 text", line)], str(path)) from error
    return parse(text, str(path))


def parse(text: str, file: str = "input") -> Node:
    """The document in `text`; BadInput with every finding when it is malformed."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        raise BadInput([_syntax(error)], file) from error
    finally:
        loader.dispose()
    if root is None or not isinstance(root, yaml.MappingNode):
        raise BadInput([Finding("yaml", "expected 'key: value' lines", 1)], file)
    findings: list[Finding] = []
    node = _convert(root, file, "", findings, set())
    if findings:
        raise BadInput(findings, file)
    return node


def _syntax(error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Finding("yaml", f"not valid: {problem}", mark.line + 1 if mark else None)


def _convert(node: yaml.Node, file: str, key: str, findings: list[Finding], seen: set[int]) -> Node:
    line = node.start_mark.line + 1
    fault = None
    if id(node) in seen:
        fault = "anchors and aliases are not supported; repeat the value"
    elif not isinstance(node, yaml.ScalarNode) and node.tag not in PLAIN_TAGS:
        fault = f"{node.tag!r}: tags are not supported"
    elif key.count(".") + key.count("[") > DEEPEST:
        fault = "is nested too deeply"
    if fault:
        findings.append(Finding(key[:60], fault, line))
        return Node(None, file, line)
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        return Node(_scalar(node, key, findings), file, line)
    if isinstance(node, yaml.SequenceNode):
        members = enumerate(node.value)
        items = [_convert(n, file, f"{key}[{i}]", findings, seen) for i, n in members]
        return Node(items, file, line)
    return Node(_mapping(node, file, key, findings, seen), file, line)


def _mapping(
    node: yaml.Node, file: str, key: str, findings: list[Finding], seen: set[int]
) -> dict[str, Node]:
    members: dict[str, Node] = {}
    for name, child in node.value:
        word = name.value if isinstance(name, yaml.ScalarNode) else ""
        path = f"{key}.{word}" if key else word
        if not word:
            line = name.start_mark.line + 1
            findings.append(Finding(key or "yaml", "a key must be a word", line))
        elif strange := UNPRINTABLE.search(word):
            line = name.start_mark.line + 1
            findings.append(Finding(key or "yaml", f"a key holds {strange[0]!r}", line))
        elif word in members:
            findings.append(Finding(path, "stands twice", name.start_mark.line + 1))
        else:
            members[word] = _convert(child, file, path, findings, seen)
    return members


def _scalar(node: yaml.ScalarNode, key: str, findings: list[Finding]) -> Any:
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    text: str = node.value
    try:
        match tag:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return int(text)
            case "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            case "str":
                if not (strange := UNPRINTABLE.search(text)):
                    return text
                findings.append(Finding(key, f"holds {strange[0]!r}", node.start_mark.line + 1))
                return None
    except ValueError:
        fault = f"{text[:40]!r} is not a number that can be read"
    else:
        fault = f"{node.tag!r}: tags are not supported"
    findings.append(Finding(key, fault, node.start_mark.line + 1))
    return None


def leaves(node: Node, key: str = "") -> Iterator[tuple[str, Node]]:
    """Every scalar and every fact of a document, with its dotted key."""
    if node.is_fact or not isinstance(node.value, dict | list):
        yield key, node
    elif isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from leaves(child, f"{key}.{name}" if key else name)
    else:
        for index, child in enumerate(node.value):
            yield from leaves(child, f"{key}[{index}]")
