"""Measured watts of kernels: what a map gives back, on its own chip and on others."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin import hardware
from racktwin.kernels.operators import Kernels
from racktwin.kernels.roofline import work
from racktwin.kernels.watts import PowerMap, power_map


@pytest.fixture(scope="module")
def known() -> PowerMap:
    found = power_map("b200")
    assert found is not None
    return found


def test_every_shipped_name_is_a_map() -> None:
    for name in ("b200", "gb200", "b300", "gb300"):
        assert power_map(hardware.chip(name).power_map) is not None
    assert hardware.chip("h100").power_map == ""
    assert power_map("h100") is None


@pytest.mark.parametrize(
    ("m", "n", "k", "microseconds", "watts"),
    [  # rows of the tables
        (2048, 8192, 8192, 82.8, 605),
        (3073, 8192, 8192, 121.4, 586),
        (64, 8192, 8192, 22.8, 287),
    ],
)
def test_measured_products_in_nvfp4(
    known: PowerMap, m: int, n: int, k: int, microseconds: float, watts: float
) -> None:
    moved = (n * k + m * k) * 0.5625 + 2 * m * n
    task = work(2.0 * m * n * k, moved, "nvfp4")
    found = known.watts("gemm nvfp4", [task], np.asarray(microseconds * 1e-6))
    assert float(found) == pytest.approx(watts, rel=0.15)


def test_watts_stay_between_what_was_read_without_and_with_full_work(known: PowerMap) -> None:
    """No kernel drew less than 206 W or more than 1,019."""
    share = np.logspace(-6, 0.5, 30)
    for family in known.index.families:
        for time in (1e-7, 1e-5, 1e-3, 1.0):
            rate = np.full_like(share, known.index.peak["bf16"])
            tasks = [work(share * rate * time, share[::-1] * known.index.bandwidth * time, "bf16")]
            found = known.watts(family, tasks, np.full_like(share, time))
            assert (found > 200).all()
            assert (found < 1020).all()


def test_joules_are_watts_above_idle_times_seconds(known: PowerMap) -> None:
    kernels = Kernels(hardware.chip("b200"), "trtllm")
    priced = kernels.gemm(np.array([8.0, 512.0]), 4096, 4096, "fp8")
    task = work(priced.flops, priced.bytes, "fp8")
    watts = known.watts("gemm fp8", [task], priced.seconds)
    assert priced.joules == pytest.approx((watts - 200) * priced.seconds)


def test_work_beyond_the_measured_peak_costs_in_proportion(known: PowerMap) -> None:
    """GB300's NVFP4 is quicker than B200's: twice B200's peak takes twice the power above idle."""
    seconds = np.asarray(1e-3)
    peak = known.index.peak["nvfp4"]
    once, twice = (
        float(known.joules("gemm nvfp4", [work(share * peak * 1e-3, 1e9, "nvfp4")], seconds))
        for share in (1.0, 2.0)
    )
    assert twice == pytest.approx(2 * once)


def test_no_time_no_energy(known: PowerMap) -> None:
    nothing = known.joules("elementwise", [work(0.0, 0.0, "bf16")], np.asarray(0.0))
    assert float(nothing) == 0.0


def test_the_fit_meets_its_mark(known: PowerMap) -> None:
    """Median error of a row on shapes left out, as the fit reports it by family: 8 % in all."""
    index = known.index
    ordered = sorted(zip(index.errors, index.rows, strict=True))
    below = np.cumsum([count for _, count in ordered])
    assert sum(index.rows) > 380_000
    median = ordered[int(np.searchsorted(below, below[-1] / 2))][0]
    assert median <= 0.08
