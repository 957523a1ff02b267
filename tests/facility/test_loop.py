"""The loop by hand, its two laws, and what it says when it is short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin import catalog, hardware
from racktwin.facility.cold_loop import cold_loop
from racktwin.facility.hall import Lost, hall
from racktwin.facility.loop import Unphysical, check, steady
from racktwin.facility.plant import plant
from racktwin.facility.rejection import cop
from racktwin.facility.shortage import shortages
from racktwin.facility.weather import steady as hour
from racktwin.finding import BadInput

CLUSTER = "azure-nd-gb300-v6"


def at(dry=20.0, humidity=0.4, load=1.0, name="warm-water", lost=None, cluster=CLUSTER):
    made = hall(hardware.cluster(cluster), plant(name), lost)
    return made, steady(made, made.chain.heat(np.array([load])), hour(dry, humidity))


def test_a_rack_by_hand():
    made, found = at()
    # 40 °C between Lenovo's 59 l/min at 25 and 177 at 45: 147.5 l/min of a 135 kW rack
    assert made.flow * 6e4 == pytest.approx(147.5 * made.rack / 135e3)
    # 0.88 x 135 kW / (147.5 l/min x 1014.47 kg/m³ x 3962.2 J/kg/K) = 12.02 K
    assert found.back - found.supply == pytest.approx(12.02, abs=0.01)
    # 1,400 W x (15 + 13.6 / (147.5/177)^0.5) mK/W over 40 °C
    assert found.junction == pytest.approx(40 + 1.4 * (15 + 13.6 * (177 / 147.5) ** 0.5), abs=1e-6)


def test_published_flows_give_one_return_temperature():
    loop = cold_loop("gb300-nvl72")
    for inlet in (25.0, 45.0):
        flow = loop.flow(inlet, 135e3)
        warmed = inlet + 0.88 * 135e3 / (flow * loop.liquid.capacity(inlet))
        assert warmed == pytest.approx(55, abs=0.6)


def test_published_rise_of_a_gb200_rack():
    """115.6 kW at 130 l/min: 12.7 K (hyd_model, whose PG25 carries 4 % more)."""
    liquid = cold_loop("gb200-nvl72").liquid
    assert 115.6e3 / (130 / 6e4 * liquid.capacity(45)) == pytest.approx(12.7, rel=0.05)


def test_design_point_reaches_the_published_target():
    loop = cold_loop("gb300-nvl72")
    resistance = loop.resistance(loop.flow(45.0, 135e3), 135e3)
    assert 45 + 1400 * resistance == pytest.approx(85, abs=0.1)


def test_chillers_by_hand():
    """Water at 30 °C, air at 35: half of 303.15 / 17; 18 °C: 0.5 x 291.15 / 29."""
    chiller = plant("warm-water").chiller
    made = cop(np.array([30.0, 18.0, 40.0]), np.array([35.0, 35.0, 20.0]), chiller)
    assert made == pytest.approx([0.5 * 303.15 / 17, 0.5 * 291.15 / 29, 12.0])


def test_cool_days_need_no_chiller_and_hot_ones_do():
    assert at(dry=20)[1].liquid.chiller == 0
    warm, hot = (at(dry=each)[1].liquid for each in (36.0, 45.0))
    assert 0 < warm.chiller < hot.chiller
    assert hot.cooler + hot.chiller == pytest.approx(at(dry=20)[1].liquid.cooler)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(catalog.names("plants")),
    st.floats(-30, 52),
    st.floats(0.02, 1.0),
    st.floats(0, 1),
    st.sampled_from([Lost(), Lost(1, 2, 1), Lost(0, 13, 4)]),
)
def test_heat_in_is_heat_out_and_no_stream_crosses(name, dry, humidity, load, lost):
    if name == "heat-exchanger-unit":
        lost = Lost(0, lost.coolers, lost.chillers)
    _, found = at(dry, humidity, load, name, lost)
    entered = found.heat.it + found.pumps + found.water_pumps + found.handlers
    left = sum(each.cooler + each.chiller for each in found.outdoors)
    assert left == pytest.approx(entered, rel=1e-9)
    assert found.primary <= found.supply <= found.back
    assert found.junction > (found.supply if load < 1 else found.back)
    for each in found.outdoors:
        assert each.cooler == 0 or each.back >= each.sink


def test_a_broken_balance_is_noticed():
    import msgspec

    made, found = at()
    crossed = msgspec.structs.replace(found, supply=found.primary - 1)
    with pytest.raises(Unphysical, match="colder than what cools it"):
        check(crossed, made)
    lost = msgspec.structs.replace(found, pumps=found.pumps + 1e6)
    with pytest.raises(Unphysical, match="do not come out"):
        check(lost, made)


def test_air_cooled_halls_have_no_coolant():
    made, found = at(cluster="hgx-b200")
    assert (made.loop, found.liquid, found.pumps) == (None, None, 0)
    assert found.handled.cooler + found.handled.chiller > found.heat.it


def test_units_beside_the_racks_bring_all_heat_into_the_air():
    made, found = at(name="heat-exchanger-unit")
    assert made.units == 64
    assert found.handled.cooler + found.handled.chiller > found.heat.it
    assert found.supply > found.air


def test_enough_of_everything_is_no_shortage():
    made, found = at(dry=45)
    assert shortages(made, found) == []


def test_lost_chillers_on_a_hot_day_say_what_is_lacking():
    made, found = at(dry=45, lost=Lost(chillers=4))
    said = {each.element: each.text for each in shortages(made, found)}
    lacking = float(found.liquid.lacking[0])
    assert f"{lacking / 1e6:.2f} MW" in said["chillers of the liquid side"]
    assert "at 45 °C outside" in said["chillers of the liquid side"]
    hot = float(found.junction[0]) - 95
    assert said["GPU junction"].startswith(f"{hot:.1f} K above 95 °C")
    assert found.held == pytest.approx((95 - found.supply) / (found.junction - found.supply))


def test_too_few_exchangers_lack_watts_and_head(tmp_path):
    (tmp_path / "few.yaml").write_text("extends: warm-water\nexchange: {units: 3, spare: 0}\n")
    made, found = at(name=str(tmp_path / "few.yaml"))
    said = {each.element: each.text for each in shortages(made, found)}
    over = float(found.heat.liquid[0] + found.pumps[0]) - 3 * 1368e3
    assert said["exchangers"].startswith(f"{over / 1e6:.2f} MW of")
    assert "l/min a rack instead of" in said["exchanger pumps"]
    assert made.flow < made.asked


def test_bad_plants_are_refused_with_their_lines(tmp_path):
    text = "extends: warm-water\nexchange:\n  approach: 0 K\nwet: {cycles: 1.0}\nvolume: 0.0\n"
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        plant(tmp_path / "bad.yaml")
    said = str(caught.value)
    assert "line 3   exchange.approach: expected more than 0, found 0" in said
    assert "line 4   wet.cycles: expected more than 1, found 1" in said
    assert "line 5   volume: expected more than 0, found 0" in said


def test_an_inlet_beyond_the_racks_limits_is_refused():
    with pytest.raises(BadInput, match="60 °C is outside the 18 °C to 50 °C"):
        hall(hardware.cluster(CLUSTER), plant("warm-water", 60.0))
