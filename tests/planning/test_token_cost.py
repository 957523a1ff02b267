"""What tokens cost: the parts add up to the hours paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from racktwin.planning.prediction import Load
from racktwin.planning.token_cost import token_cost

FILE = Path(__file__).parents[2] / "examples/deepseek-r1-gb300-disaggregated.yaml"
LOAD = Load(input=8192, output=1024, concurrency=64000)


def test_input_and_output_pay_for_all_hours():
    cost = token_cost(FILE, LOAD, None, None)
    state = cost.found.state
    tokens_in, tokens_out = (state.requests * each for each in (8192, 1024))
    paid = (cost.input.value * tokens_in + cost.output.value * tokens_out) / 1e6 * 3600
    assert paid == pytest.approx(cost.rented * state.gpus)
    own = (cost.own_input.value * tokens_in + cost.own_output.value * tokens_out) / 1e6 * 3600
    assert own == pytest.approx(cost.owned.all.value * state.gpus)
    assert cost.prefill == pytest.approx(20 / 36)


def test_joules_and_grams_by_hand():
    cost = token_cost(FILE, LOAD, "$0.05/kWh", "100 g/kWh")
    watts = cost.found.watts * 1.15
    per_joule = cost.found.state.output_rate_per_gpu / watts
    assert cost.per_joule.value == pytest.approx(per_joule)
    assert cost.carbon.value == pytest.approx(1000 / per_joule / 3.6e6 * 100)
    assert cost.owned.electricity.value == pytest.approx(watts / 1000 * 0.05)
    for each in (cost.input, cost.own_output, cost.per_joule, cost.carbon):
        assert 0 < each.low < each.value < each.high
