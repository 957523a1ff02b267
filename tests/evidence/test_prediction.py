"""Predictions of measurements under their client's load, and the accuracy that was published."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from racktwin.evidence import deployment, mlperf, predict, sheet
from racktwin.evidence.measurement import Client, Measurement
from racktwin.serving.steady import Served

EVERY = 60  # rows of the file between two of the sample


@pytest.fixture(scope="module")
def row(published_row: dict[str, str]) -> Measurement:
    return sheet.measurement(published_row)


def test_a_first_wave_moves_time_from_the_answer_to_its_first_token(row: Measurement) -> None:
    served = Served(deployment(row))
    calm = predict(msgspec.structs.replace(row, client=Client(waves=10**9)), served)
    burst = predict(msgspec.structs.replace(row, client=Client(waves=1)), served)
    usual = predict(msgspec.structs.replace(row, client=Client()), served)
    assert calm.ttft < usual.ttft < burst.ttft
    assert usual.ttft == pytest.approx(0.9 * calm.ttft + 0.1 * burst.ttft, rel=1e-6)
    assert calm.tpot >= usual.tpot > burst.tpot
    steps = row.traffic.steps
    assert usual.ttft + steps * usual.tpot == pytest.approx(burst.ttft + steps * burst.tpot)


def test_steps_held_back_are_waited_by_those_who_open_a_batch(row: Measurement) -> None:
    served = Served(deployment(row))
    alone = msgspec.structs.replace(row, concurrency=1.0, client=Client(waves=10**9))
    plain = predict(alone, served)
    held = predict(msgspec.structs.replace(alone, client=Client(waves=10**9, held=40)), served)
    joining = 40 / alone.traffic.steps
    expected = 40 * (1 + joining / 2) / (1 + joining) * plain.tpot
    assert held.ttft - plain.ttft == pytest.approx(expected, rel=0.02)
    polled = predict(msgspec.structs.replace(alone, client=Client(waves=10**9, polled=30)), served)
    assert polled.ttft - plain.ttft == pytest.approx(15 * plain.tpot, rel=0.02)


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
    rate = predict(newest, Served(deployment(newest))).output_rate
    assert rate == pytest.approx(647_076, rel=0.15)
