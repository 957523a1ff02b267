"""Typical years keep the normals they are drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import catalog
from racktwin.facility.climate import read_climate, typical_year
from racktwin.facility.station import weather
from racktwin.finding import BadInput


@pytest.mark.parametrize("name", catalog.names("climates"))
def test_months_have_the_means_and_ranges_of_the_climate(name):
    climate, year = read_climate(name), weather(name)
    assert len(year) == 8760
    days = year.dry.reshape(365, 24)
    month = year.month.reshape(365, 24)[:, 0]
    for index in range(12):
        at = month == index + 1
        assert days[at].mean() == pytest.approx(climate.mean[index], abs=1e-9)
        assert np.ptp(days[at], axis=1).mean() == pytest.approx(climate.range[index], rel=1e-9)
    assert (year.wet <= year.dry).all()


def test_a_year_is_the_same_for_everybody():
    one, other = (typical_year(read_climate("atlanta")) for _ in range(2))
    assert (one.dry == other.dry).all()


def test_no_such_climate_names_the_nearest():
    with pytest.raises(BadInput, match=r"--weather: 'phenix' is not known; did you mean 'phoenix'"):
        weather("phenix")


def test_a_file_in_fahrenheit_is_refused_with_its_lines(tmp_path):
    text = "extends: phoenix\nmean: [" + ", ".join(["56", "95"] * 6) + "]\ndew: [1, 2]\n"
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        weather(str(tmp_path / "own.yaml"))
    said = str(caught.value)
    assert "line 2   mean: 56 is out of range; expected -60 to 50: is it in °F?" in said
    assert "line 3   dew: expected 12 months, found 2" in said
