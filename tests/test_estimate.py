"""Estimates: how their interval is said."""

from __future__ import annotations

import pytest

from racktwin.estimate import Estimate


def test_the_farther_end_is_the_error_that_is_said() -> None:
    above = Estimate(20.0, 17.0, 28.2, "ms")
    assert above.relative == pytest.approx(0.41)
    assert Estimate(20.0, 16.8, 20.0, "ms").relative == pytest.approx(0.16)
    assert str(above) == "20 (17 to 28.2) ms"
    assert Estimate(0.0, 0.0, 0.0, "s").relative == 0
