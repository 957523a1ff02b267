"""Nodes -> records: check a document against a msgspec.Struct and collect every finding."""

from __future__ import annotations

import functools
import math
import types
import typing
from pathlib import Path
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
    reader = Reader(node.file)
    value = reader.record(node, shape, "", skip)
    if reader.findings:
        findings = sorted(reader.findings, key=lambda each: each.line or 0)
        raise BadInput(findings, node.file)
    return typing.cast(T, value)


class Reader:
    """Converts nodes to typed values; what it cannot convert becomes None and a finding."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []

    def add(self, node: Node, key: str, message: str) -> None:
        """Note a fault; one in a file that the document extends says which."""
        where = "" if node.file == self.file else f" (in {Path(node.file).name})"
        self.findings.append(Finding(key or "file", message + where, node.line))

    def value(self, node: Node, shape: Any, key: str) -> Any:
        """`node` as a `shape`: a record, a container, a quantity or a plain type."""
        if isinstance(node.value, BadInput):  # a name or file that could not be followed
            for fault in node.value.findings:
                self.add(node, key, fault.message)
            return None
        is_record = isinstance(shape, type) and issubclass(shape, msgspec.Struct)
        if is_record:
            return self.record(node, shape, key, ())
        if node.is_fact:
            return self.value(node.value["value"], shape, key)
        origin, parts = typing.get_origin(shape), typing.get_args(shape)
        if shape is Any:
            return node.plain()
        if origin is typing.Annotated:
            return self.bounded(node, parts[0], parts[1], key)
        if origin in (typing.Union, types.UnionType):
            inner = [each for each in parts if each is not types.NoneType]
            listed = [each for each in inner if typing.get_origin(each) in (list, tuple)]
            fitting = (listed if isinstance(node.value, list) else inner) or inner
            return None if node.value is None else self.value(node, fitting[0], key)
        if origin is typing.Literal:
            return self.choice(node, parts, key)
        if origin is dict:
            return self.mapping(node, parts[1], key)
        if origin in (list, tuple):
            return self.sequence(node, origin, parts[0], key)
        return self.scalar(node, shape, key)

    def scalar(self, node: Node, shape: Any, key: str) -> Any:
        """A quantity from its text, or a plain value of exactly the type asked for."""
        value = node.value
        if issubclass(shape, Quantity):
            found = shape.read(value if not isinstance(value, dict) else "a mapping")
            return found if isinstance(found, Quantity) else self.add(node, key, found)
        if shape is float and type(value) is int:
            value = float(value)
        if type(value) is shape and not (shape is float and not math.isfinite(value)):
            return value
        return self.wrong(node, key, PLAIN[shape])

    def bounded(self, node: Node, shape: Any, limits: msgspec.Meta, key: str) -> Any:
        """A number within the limits of its annotation."""
        value = self.value(node, shape, key)
        low, high = limits.ge or 0, limits.le or math.inf
        if value is None or low <= value <= high:
            return value
        return self.add(node, key, f"{value:g} is out of range; expected {low:g} to {high:g}")

    def choice(self, node: Node, choices: tuple[Any, ...], key: str) -> Any:
        """One of a few words."""
        if type(node.value) is str and node.value in choices:
            return node.value
        hint = unknown(key, str(node.plain())[:40], [str(each) for each in choices])
        return self.add(node, key, hint.message)

    def mapping(self, node: Node, shape: Any, key: str) -> Any:
        """Free keys with values of one type."""
        if not isinstance(node.value, dict):
            return self.wrong(node, key, "a mapping")
        return {k: self.value(n, shape, f"{key}.{k}") for k, n in node.value.items()}

    def sequence(self, node: Node, origin: Any, shape: Any, key: str) -> Any:
        """A list with values of one type."""
        if not isinstance(node.value, list):
            return self.wrong(node, key, "a list")
        return origin([self.value(n, shape, f"{key}[{i}]") for i, n in enumerate(node.value)])

    def record(self, node: Node, shape: type, key: str, skip: tuple[str, ...]) -> Any:
        """A Struct: known keys only, none missing."""
        if not isinstance(node.value, dict):
            return self.wrong(node, key, "a mapping")
        before = len(self.findings)
        hints = _hints(shape)
        dot = f"{key}." if key else ""
        values = {}
        for name, child in node.value.items():
            if name in hints:
                values[name] = self.value(child, hints[name], dot + name)
            elif name not in skip:
                self.add(child, dot + name, unknown(name, name, [*hints, *skip]).message)
        for field in msgspec.structs.fields(shape):
            if field.required and field.name not in node.value:
                self.add(node, dot + field.name, "is missing")
        return shape(**values) if len(self.findings) == before else None

    def wrong(self, node: Node, key: str, expected: str) -> None:
        """Note that the value is of another type than expected."""
        shown = "a mapping" if isinstance(node.value, dict) else repr(node.plain())[:40]
        self.add(node, key, f"expected {expected}, found {shown}")


@functools.cache
def _hints(shape: type) -> dict[str, Any]:
    return typing.get_type_hints(shape, include_extras=True)
