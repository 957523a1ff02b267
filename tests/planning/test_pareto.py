"""The front against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from racktwin.planning.pareto import front

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30)


@given(points)
def test_no_point_of_the_front_is_beaten_and_every_other_is(points: list[tuple[int, int]]) -> None:
    one, two = (
        [list(each) for each in zip(*points, strict=True)] or ([], []) if points else ([], [])
    )
    kept = front(one, two).tolist()

    def beaten(index: int) -> bool:
        x, y = points[index]
        return any(a >= x and b >= y and (a, b) != (x, y) for a, b in points)

    best = {point for index, point in enumerate(points) if not beaten(index)}
    assert {points[index] for index in kept} == best
    assert len(kept) == len(best)  # one of each


def test_the_front_falls() -> None:
    one = np.array([3.0, 1.0, 2.0, 2.0])
    two = np.array([1.0, 5.0, 4.0, 2.0])
    assert front(one, two).tolist() == [0, 2, 1]
