"""The floor that repeated runs and uneven curves set under all errors."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from calibration import noise
from racktwin.evidence import sheet
from racktwin.evidence.data import HERE
from racktwin.evidence.measurement import Measurement


@pytest.fixture(scope="module")
def row() -> Measurement:
    return next(iter(sheet.read(Path(HERE / "serving_measured.csv.gz")).measurements))


def at(row: Measurement, load: float, tpot: float) -> tuple[Measurement, float]:
    return msgspec.structs.replace(row, concurrency=load, tpot=tpot, ttft=1.0), tpot


def test_runs_of_a_configuration_against_their_geometric_mean(row: Measurement) -> None:
    values = [at(row, 8, 1.0), at(row, 8, 4.0), at(row, 16, 3.0)]
    found = noise.repeats(values)
    assert found.count == 2
    assert found.mean == pytest.approx((2 / 1 - 1 + 1 - 2 / 4) / 2)


def test_a_copy_is_no_run(row: Measurement) -> None:
    assert noise.repeats([at(row, 8, 1.0), at(row, 8, 1.0005)]).count == 0


def test_a_power_law_has_no_noise_and_a_leap_has(row: Measurement) -> None:
    smooth = [at(row, load, load**0.5) for load in (4, 8, 16)]
    assert noise.bends(smooth).mean == pytest.approx(0.0, abs=1e-12)
    leap = [smooth[0], at(row, 8, 2 * 8**0.5), smooth[2]]
    assert noise.bends(leap).count == 1
    assert noise.bends(leap).bias == pytest.approx(math.exp(-math.log(2) / 1.5**0.5) - 1)
    assert noise.bends([smooth[0], smooth[1]]).count == 0
