"""A year: what adds up, what climates and plants change, prices by the hour."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.facility.asked import YearWish, year_of
from racktwin.facility.series import carbon, prices
from racktwin.facility.year_record import record, watts
from racktwin.finding import BadInput

CLUSTER = "azure-nd-gb300-v6"


def made(weather="phoenix", tariff=None, intensity=None, load="100%", cluster=CLUSTER, **wish):
    asked = YearWish(weather=weather, load=load, tariff=tariff, carbon=intensity, **wish)
    return year_of(cluster, asked)


def test_parts_add_up_to_the_meter():
    year = made().year
    assert sum(watts(year).values()) == pytest.approx(year.site, rel=1e-12)
    assert year.hourly_pue == pytest.approx(year.site / year.it)
    assert year.hourly_pue.min() > 1
    assert year.pue == pytest.approx(np.average(year.hourly_pue, weights=year.it))


def test_published_range_of_liquid_cooled_halls():
    """Hyperscale liquid halls publish about 1.15 (thermal_room) with a UPS; this hall has none."""
    for climate in ("phoenix", "wisconsin", "singapore", "dublin"):
        assert 1.02 < made(climate).year.pue < 1.15


def test_evaporating_all_heat_takes_the_published_water():
    """1.5 to 2.1 litres per kWh: 1/2,430 kJ/kg x 5/4 drained x heat over IT."""
    year = made(plant="tower").year
    assert year.wue == pytest.approx(3600 / 2430 * 5 / 4 * 1.01, rel=0.02)
    assert made(plant="warm-water").year.wue == 0


def test_hotter_places_and_colder_water_cost_more():
    assert (
        made("sweden").year.pue < made("phoenix").year.pue < made("phoenix", inlet="25C").year.pue
    )
    assert made("sweden").year.chilled < made("phoenix").year.chilled


def test_the_bill_by_hand(tmp_path):
    hours = ["$/MWh", *(str(-20 if hour < 6 else 100) for hour in range(24))]
    (tmp_path / "p.csv").write_text("\n".join(hours) + "\n")
    found = made(tariff=str(tmp_path / "p.csv"), intensity="100 g/kWh")
    by_hour = np.tile([-0.02] * 6 + [0.1] * 18, 365)
    kwh = found.year.site / 1000
    assert found.bill.electricity == pytest.approx((by_hour * kwh).sum())
    assert found.bill.carbon == pytest.approx(0.1 * kwh.sum())
    assert found.bill.paid == 6 * 365


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("price\n5\n", "line 1   heading: the heading names no unit: 'price'; expected one of"),
        ("$/MWh\n5\n\n", "file: expected 24, 168, 8,760, 8,784 hours, found 1"),
        ("$/kWh\n" + "55\n" * 24, "line 2   figure: 55 is out of range; expected -20 to 20 $/kWh"),
        ("hour,$/MWh\n" + "1,5\n2,\n" * 12, "line 3   figure: is empty; every hour needs one"),
        ("$/MWh\n" + "x\n" * 24, "file: and 12 more like these"),
    ],
)
def test_files_of_prices_that_cannot_be_used(tmp_path, text, said):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(BadInput) as caught:
        prices(str(tmp_path / "p.csv"), 8760)
    assert said in str(caught.value)


def test_carbon_is_never_negative(tmp_path):
    (tmp_path / "c.csv").write_text("g/kWh\n" + "-5\n" * 24)
    with pytest.raises(BadInput, match="expected 0 to 3000 g/kWh"):
        carbon(str(tmp_path / "c.csv"), 24)
    assert prices("-$5/MWh", 3) == pytest.approx([-0.005] * 3)


def test_all_faults_of_a_question_at_once():
    with pytest.raises(BadInput) as caught:
        made("phenix", "cheap", "5 g", "2", plant="towr", inlet="hot", cluster="azure")
    keys = {each.key for each in caught.value.findings}
    assert keys == {"CLUSTER", "--weather", "--load", "--tariff", "--carbon", "--plant", "--inlet"}


def test_the_record_has_the_means():
    found = made("dublin")
    kept = record(found)
    assert kept["pue"] == found.year.pue
    assert kept["weather"]["dry_bulb"]["most"] == found.year.weather.dry.max()
    assert sum(kept["watts"].values()) == pytest.approx(found.year.site.mean())


def test_the_site_brings_its_own_weather_and_carbon(tmp_path):
    text = f"extends: {CLUSTER}\nsite: {{weather: dublin, carbon: 250 g/kWh}}\n"
    (tmp_path / "own.yaml").write_text(text)
    found = made(None, cluster=str(tmp_path / "own.yaml"))
    assert found.year.weather.title == "Dublin, Ireland"
    assert found.bill.carbon == pytest.approx(0.25 * found.bill.energy)
    (tmp_path / "epw.yaml").write_text(f"extends: {CLUSTER}\nsite: {{weather: none.epw}}\n")
    with pytest.raises(BadInput, match=f"{tmp_path}/none.epw: file: cannot be read"):
        made(None, cluster=str(tmp_path / "epw.yaml"))
