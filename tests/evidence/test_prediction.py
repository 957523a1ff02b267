"""Predictions of measurements under their client's load, and the accuracy that was published."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from racktwin.evidence import deployment, mlperf, sheet
from racktwin.evidence.measurement import Client, Measurement
from racktwin.evidence.prediction import Prediction, predict
from racktwin.serving.steady import Served

EVERY = 60  # rows of the file between two of the sample


@pytest.fixture(scope="module")
def row(published_row: dict[str, str]) -> Measurement:
    return sheet.measurement(published_row)


def with_client(
    row: Measurement, served: Served, concurrency: float, **client: float
) -> Prediction:
    """`row` under other clients."""
    changed = msgspec.structs.replace(row, concurrency=concurrency, client=Client(**client))  # type: ignore[arg-type]
    return predict(changed, served)


def test_a_first_wave_waits_longest_and_weighs_less_the_more_follow(row: Measurement) -> None:
    served = Served(deployment(row))
    burst, usual, calm = (
        with_client(row, served, 64.0, waves=each, spread=0.2) for each in (1, 10, 100)
    )
    assert calm.ttft < usual.ttft < 0.5 * burst.ttft
    assert usual.median < usual.ttft
    inside = usual.ttft + row.traffic.steps * usual.tpot
    assert usual.output_rate == pytest.approx(64 * row.traffic.output / inside)


def test_a_lone_client_has_the_times_of_the_steady_state(row: Measurement) -> None:
    served = Served(deployment(row))
    alone = with_client(row, served, 1.0, waves=20)
    state = served.closed(row.traffic, 1.0)
    assert alone.tpot == pytest.approx(state.tpot, rel=0.02)
    assert alone.ttft == pytest.approx(state.ttft, rel=0.06)  # which meets its own arrivals


def test_with_a_place_less_than_clients_each_waits_for_another_s_answer(row: Measurement) -> None:
    served = Served(deployment(row))
    plain, crowded = (
        with_client(row, served, 8.0, spread=0.2, crowded=each) for each in (False, True)
    )
    request = plain.ttft + row.traffic.steps * plain.tpot
    assert 0.5 * request / 8 < crowded.ttft - plain.ttft < 1.5 * request / 8
    assert crowded.tpot <= plain.tpot


def test_steps_held_back_and_polled_are_waited(row: Measurement) -> None:
    served = Served(deployment(row))
    plain = with_client(row, served, 2.0, spread=0.2)
    held = with_client(row, served, 2.0, spread=0.2, held=40)
    polled = with_client(row, served, 2.0, spread=0.2, polled=30)
    # not by the first of all, which finds nobody decoding, and less by those that come meanwhile
    assert 30 * plain.tpot < held.ttft - plain.ttft < 41 * plain.tpot
    assert polled.ttft - plain.ttft == pytest.approx(15 * plain.tpot)


def test_a_sample_of_published_rows_is_predicted_as_well_as_the_page_says(shared: Path) -> None:
    found = sheet.read(shared / "truth" / "serving_measured.csv").measurements
    sample = [each for each in found if each.trusted("tpot")][::EVERY]
    off = [
        predict(each, Served(deployment(each), each.fraction or None)).tpot / (each.tpot or 1) - 1
        for each in sample
    ]
    assert len(sample) > 25
    assert np.median(np.abs(off)) < 0.15
    assert np.mean(np.abs(off)) < 0.20


def test_gb300_offline_of_the_newest_round_without_any_fit_to_it(shared: Path) -> None:
    truth = shared / "truth"
    results = mlperf.read(truth / "mlperf_inference.csv", truth / "mlperf_configs.csv")
    newest = next(each for each in results.measurements if each.id.startswith("v6.0"))
    rate = Served(deployment(newest)).closed(newest.traffic, newest.concurrency).output_rate
    assert rate == pytest.approx(647_076, rel=0.15)
