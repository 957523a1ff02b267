"""Objectives by hand."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.planning.objective import OBJECTIVES, Terms, idle_watts, score
from racktwin.planning.search import Candidates
from racktwin.serving.traffic import Traffic

RACKS = hardware.cluster("azure-nd-gb300-v6", racks=1)
ZERO = {name: np.zeros(2) for name in Candidates.__struct_fields__}
EVERY = Candidates(
    **{
        **ZERO,
        "rate": np.array([4.0, 9.0]),
        "gpus": np.array([8.0, 20.0]),
        "tpot": np.array([0.010, 0.012]),
        "ttft": np.array([1.0, 0.5]),
        "watts": np.array([1000.0, 1200.0]),
    }
)
TERMS = Terms(Traffic(input=900, output=100), RACKS, 3.6, 72, np.array([9.0, 3.0]))


def test_rates_count_the_gpus_left_idle() -> None:
    assert score("throughput", EVERY, TERMS) == pytest.approx([400 / 8, 900 / 20 * 60 / 72])
    assert score("total", EVERY, TERMS) == pytest.approx([4000 / 8, 9000 / 20 * 60 / 72])


def test_cost_is_the_price_of_a_token_and_lower_is_better() -> None:
    dollars = [0.001 / 50, 0.001 / 45 / (60 / 72)]
    assert score("cost", EVERY, TERMS) == pytest.approx([-each for each in dollars])


def test_power_is_that_of_the_gpu_and_its_share_of_the_rack() -> None:
    rest = idle_watts(RACKS)
    assert 0 < rest < RACKS.chip.tdp
    assert rest == pytest.approx((RACKS.rack_power - 72 * RACKS.chip.tdp) / 72)
    expected = [50 / (1000 + rest), 45 / (1200 + rest) * 60 / 72]
    assert score("tokens_per_mw", EVERY, TERMS) == pytest.approx(expected)


def test_carbon_is_that_of_the_meter_and_lower_is_better() -> None:
    """370 g/kWh at PUE 1.15 over tokens/s per W."""
    watts = score("tokens_per_mw", EVERY, TERMS)
    grams = [-0.37 * 1.15 / 3.6e6 / each for each in watts]
    assert score("carbon", EVERY, TERMS) == pytest.approx(grams)


def test_latency_is_tpot_then_ttft() -> None:
    found = score("latency", EVERY, TERMS)
    assert found[0] > found[1]
    even = Candidates(**{**ZERO, "tpot": np.full(2, 0.01), "ttft": np.array([1.0, 0.5])})
    assert np.argmax(score("latency", even, TERMS)) == 1


def test_an_unknown_objective_gets_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'throughput'"):
        score("throughputt", EVERY, TERMS)
    assert set(OBJECTIVES) == {"throughput", "total", "cost", "tokens_per_mw", "carbon", "latency"}
