"""Heat exchangers against closed forms and the rating of a CDU."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.facility.exchanger import approach, conductance, effectiveness
from racktwin.facility.plant import plant
from racktwin.facility.pump import pump


def test_a_phase_change_is_the_exponential():
    got = effectiveness(np.array(2.0), np.array(1.0), np.array(1e9))
    assert got == pytest.approx(1 - math.exp(-2), rel=1e-6)


def test_equal_streams_and_a_textbook_point():
    assert effectiveness(np.array(3.0), np.array(1.0), np.array(1.0)) == pytest.approx(0.75)
    # counter flow, NTU 2, ratio 0.5: (1 - e^-1)/(1 - 0.5 e^-1)
    got = effectiveness(np.array(2.0), np.array(0.5 * 2), np.array(1.0 * 2))
    assert got == pytest.approx((1 - math.exp(-1)) / (1 - 0.5 * math.exp(-1)))


@given(st.floats(0.05, 0.95), st.floats(1, 1e6), st.floats(1, 1e6))
def test_conductance_is_the_inverse(share, hot, cold):
    back = effectiveness(np.array(conductance(share, hot, cold)), np.array(hot), np.array(cold))
    assert back == pytest.approx(share, rel=1e-6)


@given(st.floats(1, 1e7), st.floats(1, 1e6), st.floats(1, 1e6), st.floats(1, 1e7))
def test_no_stream_crosses_the_other(through, hot, cold, heat):
    made = approach(np.array(heat), np.array(through), np.array(hot), np.array(cold))
    assert made >= -1e-9 * heat / min(hot, cold)


def test_a_cdu_has_its_approach_at_its_rating():
    """Vertiv XDU1350: 1,368 kW at 1,200 l/min and 4 K; PG25 at 40 °C from CoolProp."""
    hot, cold = 0.02 * 1014.47 * 3962.2, 1368e3 / 17
    share = 1368e3 / min(hot, cold) / (1368e3 / hot + 4)
    through = conductance(share, hot, cold)
    args = (np.array(1368e3), np.array(through), np.array(hot), np.array(cold))
    assert approach(*args) == pytest.approx(4.0, rel=1e-9)


def test_a_pump_goes_through_its_two_points_and_slows_down_by_its_laws():
    made = pump(plant("warm-water").exchange)
    assert made.head(0.02) == pytest.approx(2.44e5)
    assert made.head(0.03) == pytest.approx(1.98e5)
    assert made.power(0.02, 2.44e5) == pytest.approx(13.7e3)
    assert made.power(0.03, 1.98e5) == pytest.approx(20.5e3)
    # half the flow against a quarter of the head: half the speed, an eighth of the power
    assert made.speed(0.01, 2.44e5 / 4) == pytest.approx(0.5)
    assert made.power(0.01, 2.44e5 / 4) == pytest.approx(13.7e3 / 8)
