"""Costs add up part by part."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.engine import cost
from racktwin.engine.cost import Cost
from racktwin.estimate import Evidence
from racktwin.kernels.priced import Priced

SEEN = Evidence("measured", "a table")
TOLD = Evidence("formula", "a formula")


def priced(*seconds: float, evidence: Evidence = SEEN) -> Priced:
    time = np.array(seconds)
    return Priced(time, time, time, 10 * time, evidence)


def test_a_calibration_changes_time_but_not_energy() -> None:
    found = cost.of("gemm", priced(1.0, 2.0), 1.5)
    assert found.parts["gemm"].tolist() == [1.5, 3.0]
    assert found.joules.tolist() == [10.0, 20.0]


def test_the_start_of_a_collective_is_slowed_by_itself() -> None:
    found = cost.collective(priced(1.0, 5.0), 3.0, 2.0)
    assert found.parts["communication"].tolist() == [3.0, 6.0]  # 1 and 2 s, 3 times as long
    assert found.parts["transfer"].tolist() == [0.0, 3.0]  # 3 s beyond, as the links have it
    assert found.joules.tolist() == [10.0, 50.0]
    assert found.evidence == {"communication": {SEEN}}


def test_no_calibration_goes_below_the_least_time() -> None:
    found = cost.collective(priced(1.0, 2.0, 4.0), 0.4, 3.0, np.array([0.3, 0.9, 3.5]))
    assert found.seconds.tolist() == [0.4, 0.9, 3.5]
    assert found.parts["transfer"].tolist() == [0.0, 0.0, 1.0]


def test_parts_of_the_same_name_are_added_and_their_evidence_joined() -> None:
    one = cost.of("gemm", priced(1.0, 2.0))
    other = cost.of("gemm", priced(3.0, 4.0, evidence=TOLD)) + cost.of("host", priced(0.5, 0.5))
    both = one + other
    assert both.parts["gemm"].tolist() == [4.0, 6.0]
    assert both.seconds.tolist() == [4.5, 6.5]
    assert both.joules.tolist() == [45.0, 65.0]
    assert both.evidence == {"gemm": {SEEN, TOLD}, "host": {SEEN}}


def test_scaling_is_repeating() -> None:
    one = cost.of("gemm", priced(1.0, 2.0)) + cost.of("host", priced(3.0, 5.0))
    thrice, repeated = one.scaled(3), cost.total([one, one, one])
    assert thrice.seconds == pytest.approx(repeated.seconds)
    assert thrice.joules == pytest.approx(repeated.joules)


def test_costs_over_unlike_shapes_broadcast() -> None:
    column = cost.of("gemm", priced(1.0, 2.0))
    tall = Cost({"attention": np.ones((3, 1))}, np.zeros((3, 1)), {})
    assert (column + tall).seconds.tolist() == [[2.0, 3.0]] * 3


def test_nothing_costs_nothing() -> None:
    assert float(cost.total([]).seconds) == 0.0
