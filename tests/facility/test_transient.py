"""Losses of cooling: by hand where nothing flows, energy kept, N+1 holds."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import hardware
from racktwin.facility.hall import hall
from racktwin.facility.plant import plant
from racktwin.facility.transient import transient
from racktwin.facility.weather import steady
from racktwin.finding import BadInput


def lose(text, dry=45.0, load=1.0, cluster="azure-nd-gb300-v6", name="warm-water"):
    made = hall(hardware.cluster(cluster), plant(name))
    return transient(made, text, steady(dry, 0.15), load)


@pytest.mark.parametrize("text", ["pumps", "exchangers:3", "chillers", "chillers,coolers"])
def test_heat_that_came_is_stored_or_gone(text):
    assert lose(text).balance == pytest.approx(0, abs=1e-9)


def test_nothing_lost_matters_with_a_spare():
    """One of 7 CDUs, 6 needed: a little warmer, and steady."""
    found = lose("exchangers:1")
    assert found.reached["junction_throttle"] is None
    assert found.junction[-1] < 85
    assert np.ptp(found.junction[-600:]) < 0.01


def test_without_pumps_racks_warm_by_their_own_coolant():
    """No flow: 7.8 MW over 64 x 30 l of PG25 and the GPUs, 600 J/K each."""
    found = lose("pumps")
    heat = float(found.hall.limit.liquid[0])
    coolant, gpus = 64 * 30 * 4.02e3, 4608 * 600
    mean = (coolant * found.back + gpus * found.junction) / (coolant + gpus)
    late = found.times > 15  # a fiftieth of the flow is left
    slope = np.polyfit(found.times[late], mean[late], 1)[0]
    assert slope == pytest.approx(heat / (coolant + gpus), rel=0.05)
    assert 5 < found.reached["junction_throttle"] < 60


def test_less_load_lasts_longer():
    assert (
        lose("pumps", load=0.5).reached["junction_throttle"]
        > (lose("pumps").reached["junction_throttle"])
    )


def test_chillers_matter_on_hot_days_only():
    assert lose("chillers", dry=20).junction[-1] == pytest.approx(81.9, abs=0.2)
    assert lose("chillers", dry=45).junction[-1] > 85


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pump", "'pump' is not known; did you mean 'pumps'"),
        ("exchangers:99", "expected 1 to 7 of exchangers"),
        ("", "expected one of pumps, exchangers, coolers, chillers"),
    ],
)
def test_bad_losses(text, said):
    with pytest.raises(BadInput, match=said):
        lose(text)


def test_air_cooled_racks_have_no_coolant():
    with pytest.raises(BadInput, match="cooled by air"):
        lose("chillers", cluster="hgx-b200")
