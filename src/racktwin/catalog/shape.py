"""Nodes -> records: check a document against a msgspec.Struct and collect every finding."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, TypeVar

import msgspec

from racktwin.catalog.document import Node
from racktwin.finding import BadInput, Finding, unknown
from racktwin.units import Quantity

T = TypeVar("T")
PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def build(node: Node, shape: type[T], skip: tuple[str, ...] = ()) -> T:
    """The record of type `shape` in `node`; BadInput names the line of each fault.

    skip: keys that may stand in the document but are not part of the record.
    """
    findings: list[Finding] = []
    value = convert(node, shape, "", findings, skip)
    if findings:
        raise BadInput(findings, node.file)
    return typing.cast(T, value)


def convert(
    node: Node, shape: Any, key: str, findings: list[Finding], skip: tuple[str, ...] = ()
) -> Any:
    """`node` as a value of type `shape`, or None after adding to `findings`."""
    if node.is_fact and not (isinstance(shape, type) and issubclass(shape, msgspec.Struct)):
        return convert(node.value["value"], shape, key, findings)
    origin = typing.get_origin(shape)
    if shape is Any:
        return node.plain()
    if origin in (typing.Union, types.UnionType):
        return _optional(node, shape, key, findings)
    if origin is typing.Literal:
        return _choice(node, typing.get_args(shape), key, findings)
    if origin is dict:
        return _mapping(node, typing.get_args(shape)[1], key, findings)
    if origin in (list, tuple):
        return _sequence(node, origin, typing.get_args(shape)[0], key, findings)
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        return _record(node, shape, key, findings, skip)
    return _scalar(node, shape, key, findings)


def _scalar(node: Node, shape: Any, key: str, findings: list[Finding]) -> Any:
    value = node.value
    if isinstance(shape, type) and issubclass(shape, Quantity):
        found = shape.read(value)
        if isinstance(found, Quantity):
            return found
        findings.append(Finding(key, found, node.line))
        return None
    if shape is float and type(value) is int:
        return float(value)
    if type(value) is shape:
        return value
    shown = "a mapping" if isinstance(value, dict) else repr(value)[:40]
    findings.append(Finding(key, f"expected {PLAIN[shape]}, found {shown}", node.line))
    return None


def _optional(node: Node, shape: Any, key: str, findings: list[Finding]) -> Any:
    wanted = [each for each in typing.get_args(shape) if each is not type(None)]
    if node.value is None and len(wanted) < len(typing.get_args(shape)):
        return None
    return convert(node, wanted[0], key, findings)


def _choice(node: Node, choices: tuple[Any, ...], key: str, findings: list[Finding]) -> Any:
    if node.value in choices and type(node.value) in {type(each) for each in choices}:
        return node.value
    names = [str(each) for each in choices]
    findings.append(unknown(key, str(node.plain())[:40], names, node.line))
    return None


def _mapping(node: Node, shape: Any, key: str, findings: list[Finding]) -> Any:
    if not isinstance(node.value, dict):
        return _wrong(node, "a mapping", key, findings)
    return {k: convert(n, shape, f"{key}.{k}", findings) for k, n in node.value.items()}


def _sequence(node: Node, origin: Any, shape: Any, key: str, findings: list[Finding]) -> Any:
    if not isinstance(node.value, list):
        return _wrong(node, "a list", key, findings)
    items = enumerate(node.value)
    return origin([convert(n, shape, f"{key}[{i}]", findings) for i, n in items])


def _record(
    node: Node,
    shape: type[msgspec.Struct],
    key: str,
    findings: list[Finding],
    skip: tuple[str, ...],
) -> Any:
    if not isinstance(node.value, dict):
        return _wrong(node, "a mapping", key, findings)
    before = len(findings)
    hints = _hints(shape)
    values = {}
    for name, child in node.value.items():
        path = f"{key}.{name}" if key else name
        if name in hints:
            values[name] = convert(child, hints[name], path, findings)
        elif name not in skip:
            findings.append(unknown(path, name, [*hints, *skip], child.line))
    for field in msgspec.structs.fields(shape):
        if field.required and field.name not in node.value:
            path = f"{key}.{field.name}" if key else field.name
            findings.append(Finding(path, "is missing", node.line))
    return shape(**values) if len(findings) == before else None


def _wrong(node: Node, expected: str, key: str, findings: list[Finding]) -> None:
    shown = "a mapping" if isinstance(node.value, dict) else repr(node.plain())[:40]
    findings.append(Finding(key or "file", f"expected {expected}, found {shown}", node.line))


@functools.cache
def _hints(shape: type) -> dict[str, Any]:
    return typing.get_type_hints(shape)
