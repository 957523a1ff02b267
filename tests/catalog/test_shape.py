"""Records out of documents: types, bounds, unknown and missing keys."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from racktwin.catalog import build, parse
from racktwin.catalog.bounds import Count, Ratio
from racktwin.finding import BadInput
from racktwin.units import Bytes, Watts


class Part(msgspec.Struct, frozen=True):
    power: Watts
    count: Count = 1


class Thing(msgspec.Struct, frozen=True):
    title: str
    kind: Literal["hot", "cold"]
    memory: Bytes
    parts: dict[str, Part] = {}
    sizes: tuple[int, ...] = ()
    ratio: Ratio | None = None
    on: bool = False


GOOD = """
title: A thing
kind: hot
memory: {value: 288 GB, source: x, kind: datasheet}
parts:
  gpu: {power: 1.4 kW, count: {value: 4, kind: datasheet}}
sizes: [1, 2]
ratio: 2
on: true
"""


def test_a_good_document() -> None:
    thing = build(parse(GOOD), Thing)
    part = Part(Watts(1400.0), 4)
    assert thing == Thing("A thing", "hot", Bytes(2.88e11), {"gpu": part}, (1, 2), 2.0, True)
    assert type(thing.memory) is Bytes
    assert type(thing.ratio) is float


def test_every_fault_is_named_with_its_line() -> None:
    text = """
title: 3
kind: warm
memroy: 288 GB
parts:
  gpu: {power: 1.4 kV, count: 0}
sizes: 1
ratio: .nan
on: no
"""
    with pytest.raises(BadInput) as caught:
        build(parse(text, "thing.yaml"), Thing)
    assert str(caught.value).splitlines() == [
        "thing.yaml: 9 findings",
        "  line 2   title: expected text, found 3",
        "  line 2   memory: is missing",
        "  line 3   kind: 'warm' is not known; known: cold, hot",
        "  line 4   memroy: 'memroy' is not known; did you mean 'memory'?",
        "  line 6   parts.gpu.power: '1.4 kV': 'kV' is not a unit of watts; did you mean '1.4 kW'?",
        "  line 6   parts.gpu.count: 0 is out of range; expected 1 to 1e+06",
        "  line 7   sizes: expected a list, found 1",
        "  line 8   ratio: expected a number, found nan",
        "  line 9   on: expected true or false, found 'no'",
    ]


@pytest.mark.parametrize("value", ["4.0", "'4'", "true", "~", "[4]", "{a: 4}", "four"])
def test_a_count_is_a_whole_number(value: str) -> None:
    with pytest.raises(BadInput, match=r"power|count"):
        build(parse(f"power: 1 W\ncount: {value}"), Part)


def test_keys_may_be_left_to_others() -> None:
    assert build(parse("power: 1 W\nname: x"), Part, skip=("name",)) == Part(Watts(1.0))
