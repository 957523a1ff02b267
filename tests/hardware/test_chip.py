"""Chips: dense peaks, formats a family has, energy."""

from __future__ import annotations

import pytest

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.hardware import Chip

GPUS = ("gb300", "gb200", "b300", "b200", "h200", "h100")


@pytest.fixture(params=GPUS)
def chip(request: pytest.FixtureRequest) -> Chip:
    return hardware.chip(request.param)


def test_formats(chip: Chip) -> None:
    fp4 = set() if chip.family == "hopper" else {"nvfp4"}
    assert set(chip.peak) == {"bf16", "fp8"} | fp4
    assert set(chip.joules_per_flop) == set(chip.peak)
    assert set(chip.sparse_peak) <= set(chip.peak)
    assert chip.peak["fp8"] == pytest.approx(2 * chip.peak["bf16"], rel=0.001)


def test_sparse_is_kept_apart_and_never_the_peak(chip: Chip) -> None:
    for name, sparse in chip.sparse_peak.items():
        assert chip.peak[name] < sparse <= 2 * chip.peak[name] * 1.001


def test_memory_lies_within_three_readings_of_the_label(chip: Chip) -> None:
    assert chip.memory_usable <= chip.memory_sold
    assert chip.memory_usable < chip.memory_visible <= chip.memory_sold * 1.074  # GB to GiB


def test_energy_fits_under_the_power_limit(chip: Chip) -> None:
    """A memory-bound kernel stays below the limit; a compute-bound one may reach it."""
    stream = chip.idle_power + chip.joules_per_byte * chip.memory_bandwidth
    assert chip.idle_power < stream < chip.tdp
    joules = [chip.joules_per_flop[name] for name in ("bf16", "fp8", "nvfp4") if name in chip.peak]
    assert joules == sorted(joules, reverse=True)
    assert chip.idle_power + joules[0] * chip.peak["bf16"] > 0.8 * chip.tdp


def test_a_cpu_is_not_a_gpu() -> None:
    assert hardware.cpu("grace").cores == 72
    with pytest.raises(BadInput, match="is a CPU"):
        hardware.chip("grace")
    with pytest.raises(BadInput, match="is missing"):
        hardware.cpu("gb300")
