"""Charts as SVG: well formed, in proportion, and deaf to markup in names."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.dashboard import svg
from racktwin.dashboard.bars import LEFT, WIDTH, stacked
from racktwin.dashboard.scatter import Point, scatter, ticks
from racktwin.dashboard.seats import EMPTY, drawing
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.models import Layout, model

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('1')</script> & \"so\""


def shapes(text: str, kind: str) -> list[ET.Element]:
    return list(ET.fromstring(text).iter(f"{SVG}{kind}"))


@given(most=st.floats(1e-6, 1e9), about=st.integers(2, 10))
def test_ticks_are_round_and_reach_just_beyond(most: float, about: int) -> None:
    found = ticks(most, about)
    step = found[1]
    digits = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(digits - round_) for round_ in (1, 2, 5, 10)) < 1e-6
    assert found[0] == 0
    assert most <= found[-1] * (1 + 1e-9)
    assert found[-1] - step <= most * (1 + 1e-9)
    assert len(found) <= about + 2


def test_ticks_of_nothing() -> None:
    assert ticks(0.0) == ticks(float("nan")) == [0.0, 1.0]


def test_points_stand_where_their_values_say() -> None:
    points = [Point(0, 0, 0, "zero"), Point(50, 100, 1, "middle"), Point(100, 200, 0, HOSTILE)]
    text = scatter(points, across="x", up="y", series=("one", "two"), limit=50.0)
    dots = [each for each in shapes(text, "circle") if each.find(f"{SVG}title") is not None]
    places = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in dots]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x1 - x0 == pytest.approx((x2 - x0) / 2, abs=0.1)
    assert y0 - y1 == pytest.approx((y0 - y2) / 2, abs=0.1)
    assert {each.attrib["fill"] for each in dots} == {svg.PALETTE[0], svg.PALETTE[1]}
    (limit,) = [each for each in shapes(text, "line") if each.attrib["class"] == "limit"]
    assert float(limit.attrib["x1"]) == pytest.approx(x1, abs=0.1)
    assert [each.text for each in shapes(text, "title")][-1] == HOSTILE


def test_a_chart_without_points_is_still_one() -> None:
    assert not shapes(scatter([], across="x", up="y", series=()), "circle")


def test_bars_are_in_proportion() -> None:
    rows = {"one": {"a": 1.0, "b": 3.0, HOSTILE: 4.0}, "two": {"a": 2.0, "b": -5.0}}
    text = stacked(rows, "ms")
    bars = [each for each in shapes(text, "rect") if each.find(f"{SVG}title") is not None]
    widths = [float(each.attrib["width"]) for each in bars]
    assert sum(widths[:3]) == pytest.approx(WIDTH - LEFT - 10, abs=0.2)
    assert widths[1] == pytest.approx(3 * widths[0], rel=0.01)
    assert widths[3] == pytest.approx(2 * widths[0], rel=0.01)
    assert widths[4] == 0
    assert "<script>" not in text


@pytest.mark.parametrize("name", ["azure-nd-gb300-v6", "azure-nd-h100-v5"])
def test_every_gpu_of_a_domain_is_drawn_and_taken_ones_are_coloured(name: str) -> None:
    cluster, found = hardware.cluster(name), model("deepseek-r1")
    deployment = Deployment(
        model=found,
        cluster=cluster,
        engine=epoch("trtllm"),
        precision=found.precision,
        prefill=Pool(layout=Layout(tensor=4, expert=4), replicas=2),
        decode=Pool(layout=Layout(attention_data=16, expert=16)),
    )
    boxes = [
        each for each in shapes(drawing(deployment), "rect") if each.find(f"{SVG}title") is not None
    ]
    assert len(boxes) % cluster.gpus_per_domain == 0
    taken = [each for each in boxes if each.attrib["fill"] != EMPTY]
    assert len(taken) == 24  # one copy
