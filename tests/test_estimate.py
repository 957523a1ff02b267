"""Estimates: how their interval is said."""

from __future__ import annotations

from racktwin.estimate import Estimate


def test_both_ends_of_the_interval_are_said() -> None:
    above = Estimate(20.0, 17.0, 28.2, "ms")
    assert str(above) == "20 (17 to 28.2) ms"
