"""Errors, coverage and groups, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from racktwin.evidence.validation.point import Held, Many, Point, Validation, Value
from racktwin.evidence.validation.tally import noise, summary, tally
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
    held = np.array([1.25, 0.5, np.nan])
    many = {"time": Many(np.array([1.1, 0.9, 1.0]), np.ones(3), held, 0.75, 1.5)}
    table = Point(
        line=1, cells={}, values=(Value(figure="time", value=1.0),), many=many, traits={"chip": "x"}
    )
    whole = Validation(set="k", source="", header=(), added=(), by=("chip",), points=(table,))
    (found,) = summary(whole).groups[0].figures
    assert found.errors.count == 3
    assert found.errors.mean == pytest.approx(0.2 / 3)
    assert (found.held.count, found.held.mean) == (2, pytest.approx(0.375))
    assert found.coverage == 0.5  # 1 lies in 0.94 to 1.9, not in 0.38 to 0.75
    assert found.width == pytest.approx(0.75)


def test_predictions_that_saw_their_row_are_told_from_those_that_did_not() -> None:
    held = Held(20.0, 8.0, 22.0)
    values = [
        Value(figure="tpot", value=11.0, low=10.5, high=12.0, measured=10.0, held=held),
        value(8, 10),
    ]
    found = tally("tpot", values)
    assert found.errors.mean == pytest.approx(0.15)
    assert found.held.mean == pytest.approx((1.0 + 0.2) / 2)
    assert found.honest == found.held
    assert found.coverage == 1.0  # 10 is in 8 to 22; without the held ones it would not be
    assert found.width == pytest.approx((0.7 + 0.45) / 2)


def test_repeated_runs_lie_around_their_mean() -> None:
    runs = {"a": (9.0, 11.0), "b": (10.0, 10.0), "c": (5.0,), "": (1.0, 100.0)}
    points = [
        Point(line=1, cells={}, values=(value(10, each),), configuration=name)
        for name, values in runs.items()
        for each in values
    ]
    found = noise("tpot", points)
    assert (found.configurations, found.errors.count) == (1, 2)
    assert found.errors.mean == pytest.approx((1 / 9 + 1 / 11) / 2)
