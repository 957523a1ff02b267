"""Why a candidate stops where it does: latencies beside their limits."""

from __future__ import annotations

import pytest

from racktwin.planning.limit import _told


@pytest.mark.parametrize(
    ("value", "most", "text"),
    [(0.0213, 0.02, "21.3 ms"), (0.0200001, 0.02, "20.0001 ms"), (3.0004, 3.0, "3.0004 s")],
)
def test_a_latency_over_its_limit_does_not_read_like_it(
    value: float, most: float, text: str
) -> None:
    assert _told(value, most) == text
