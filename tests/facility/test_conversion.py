"""Losses of stages, shelves and bars against values by hand."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.facility.conversion import bus_loss, curve_loss, stage_loss
from racktwin.hardware.stage import Curve, Stage
from racktwin.units import Fraction, Watts

CURVE = Curve(
    load=[Fraction(each) for each in (0.1, 0.25, 0.5, 1.0)],
    efficiency=[Fraction(each) for each in (0.94, 0.965, 0.975, 0.965)],
)


def stage(**more: float) -> Stage:
    shares = {name: Fraction(value) for name, value in more.items()}
    return Stage(name="transformer", racks=1, rating=Watts(2.5e6), **shares)  # type: ignore[arg-type]


def test_a_transformer_as_its_makers_rate_it() -> None:
    """0.15 % at no load and 0.85 % more at the rating: 99 % there, 99.28 % at half."""
    lost = stage_loss(stage(standing=0.0015, series=0.0085), np.array([2.5e6, 1.25e6]))
    assert lost == pytest.approx([2.5e6 * 0.01, 2.5e6 * (0.0015 + 0.0085 / 4)])
    assert 1.25e6 / (1.25e6 + lost[1]) == pytest.approx(0.9928, abs=1e-4)


def test_a_unit_without_power_loses_nothing() -> None:
    assert stage_loss(stage(standing=0.0015), np.array([0.0, 1.0])).tolist() == [0.0, 3750.0]
    assert curve_loss(CURVE, 33e3, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_a_curve_passes_through_its_points() -> None:
    out = np.array([0.1, 0.25, 0.5, 1.0]) * 33e3
    lost = curve_loss(CURVE, 33e3, out)
    assert out / (out + lost) == pytest.approx([0.94, 0.965, 0.975, 0.965])


def test_a_curve_goes_on_outside_its_points() -> None:
    """Along the loss's last piece: what the overload adds is lost at the same rate as before."""
    last = (1 / 0.965 - 1) - 0.5 * (1 / 0.975 - 1)
    expected = 33e3 * ((1 / 0.965 - 1) + 0.1 * last / 0.5)
    assert curve_loss(CURVE, 33e3, 1.1 * 33e3) == pytest.approx(expected)
    assert 0 <= curve_loss(CURVE, 33e3, 1.0) < curve_loss(CURVE, 33e3, 3.3e3)


def test_a_bus_bar_is_a_resistance() -> None:
    """30 microohm at 50 V: I = 2,640 A at 132 kW, I^2 R = 209 W, 0.158 %; a quarter at half."""
    watts = 2640**2 * 30e-6
    assert bus_loss(watts / 132e3, 132e3, 132e3) == pytest.approx(watts)
    assert bus_loss(watts / 132e3, 132e3, 66e3) == pytest.approx(watts / 4)
