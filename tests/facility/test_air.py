"""Moist air against psychrolib 2.5, an independent implementation of the same handbook."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.facility.air import humidity_at, pressure_at, ratio_of, saturation, wet_bulb

# °C, relative humidity, Pa -> wet bulb °C, saturation pressure Pa, dew point °C, kg/kg
PSYCHROLIB = [
    (35, 0.4, 101325, 23.9342, 5627.819, 19.3846, 0.014132),
    (20, 0.5, 101325, 13.7834, 2338.804, 9.2724, 0.007262),
    (45, 0.1, 97000, 20.8612, 9593.22, 6.3679, 0.006212),
    (-5, 0.8, 101325, -5.884, 401.764, -7.5853, 0.001979),
    (30, 0.9, 101325, 28.5861, 4246.03, 28.1771, 0.024376),
    (5, 0.6, 85000, 1.8242, 872.487, -1.8672, 0.003854),
]


@pytest.mark.parametrize(("t", "humidity", "pressure", "wet", "full", "dew", "ratio"), PSYCHROLIB)
def test_agrees_with_psychrolib(t, humidity, pressure, wet, full, dew, ratio):
    at, rh, pa = (np.array([float(each)]) for each in (t, humidity, pressure))
    assert saturation(at)[0] == pytest.approx(full, rel=1e-6)
    assert wet_bulb(at, rh, pa)[0] == pytest.approx(wet, abs=2e-3)
    assert humidity_at(np.array([dew]), at)[0] == pytest.approx(humidity, abs=1e-4)
    assert ratio_of(rh * saturation(at), pa)[0] == pytest.approx(ratio, abs=1e-6)


def test_standard_atmosphere():
    assert pressure_at(0) == 101325
    assert pressure_at(1500) == pytest.approx(84556, rel=1e-4)  # ASHRAE's table: 84.556 kPa


@given(st.floats(-40, 50), st.floats(0.01, 1.0), st.floats(7e4, 1.05e5))
def test_wet_bulb_lies_below_the_dry_bulb_and_saturated_air_at_it(t, humidity, pressure):
    at, rh, pa = (np.array([each]) for each in (t, humidity, pressure))
    wet = wet_bulb(at, rh, pa)[0]
    assert t - 40 < wet <= t
    assert wet_bulb(at, np.array([1.0]), pa)[0] == pytest.approx(t, abs=0.02)
