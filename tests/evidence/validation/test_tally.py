"""Errors, coverage and groups, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from racktwin.evidence.validation.point import Point, Validation, Value
from racktwin.evidence.validation.tally import summary, tally
from racktwin.finding import BadInput


def point(chip: str, *values: Value, reason: str = "", repeated: bool = False) -> Point:
    return Point(
        line=1,
        cells={"a": "1"},
        values=values,
        traits={"chip": chip} if values else {},
        reason=reason,
        repeated=repeated,
    )


def value(predicted: float, measured: float | None, **more: str) -> Value:
    low, high = 0.8 * predicted, 1.25 * predicted
    return Value(
        figure="tpot",
        value=predicted,
        low=low,
        high=high,
        measured=measured,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def validation() -> Validation:
    return Validation(
        set="serving",
        source="a.csv",
        header=("a",),
        added=("b", "reason"),
        by=("chip",),
        points=(
            point("gb300", value(11, 10)),
            point("gb300", value(8, 10)),
            point("h100", value(30, 10, doubt="slow")),
            point("h100", value(40, 10, apart="queued")),
            point("h100", value(10, None)),
            point("", reason="model: unknown"),
            point("gb300", value(11, 10), repeated=True),
        ),
    )


def test_errors_coverage_and_width(validation: Validation) -> None:
    found = summary(validation)
    (trusted,), (everything,) = found.trusted.figures, found.everything.figures
    assert trusted.errors.count == 2
    assert trusted.errors.mean == pytest.approx(0.15)
    assert trusted.coverage == 1.0  # 10 lies in 8.8 to 13.75, and at the end of 6.4 to 10
    assert trusted.width == pytest.approx(0.45)
    assert everything.errors.count == 3
    assert everything.errors.mean == pytest.approx((0.1 + 0.2 + 2.0) / 3)
    assert everything.coverage == pytest.approx(2 / 3)


def test_counts_and_what_stands_apart(validation: Validation) -> None:
    found = summary(validation)
    assert (found.refused, found.doubted, found.repeated) == (1, 1, 1)
    assert (found.everything.rows, found.everything.answered) == (6, 5)
    assert found.reasons == (("model: unknown", 1),)
    (queued,) = found.apart
    assert (queued.name, queued.figures[0].errors.mean) == ("queued", pytest.approx(3.0))
    names = [(each.by, each.name, each.answered) for each in found.groups]
    assert names == [("chip", "gb300", 2), ("chip", "h100", 3)]


def test_unknown_traits_are_named(validation: Validation) -> None:
    with pytest.raises(BadInput, match="did you mean 'chip'"):
        summary(validation, ["chips"])


def test_nothing_scored_is_no_number() -> None:
    found = tally("tpot", [value(10, None)])
    assert found.errors.count == 0
    assert math.isnan(found.errors.mean)
    assert math.isnan(found.coverage)


def test_a_table_counts_all_its_points() -> None:
    many = {"time": (np.array([1.1, 0.9, 1.0]), np.ones(3))}
    table = Point(
        line=1, cells={}, values=(Value(figure="time", value=1.0),), many=many, traits={"chip": "x"}
    )
    whole = Validation(set="k", source="", header=(), added=(), by=("chip",), points=(table,))
    (found,) = summary(whole).groups[0].figures
    assert found.errors.count == 3
    assert found.errors.mean == pytest.approx(0.2 / 3)
