"""Swings of a whole cluster: against the budget, by hand, and what steadies them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from racktwin import hardware
from racktwin.facility.budget import budget
from racktwin.facility.chain import facility_of
from racktwin.facility.pattern import course, pattern
from racktwin.facility.smoothing import smoothing
from racktwin.facility.spectrum import BANDS
from racktwin.facility.swings import Limit, Swings, swings
from racktwin.hardware import Cluster
from racktwin.units import Fraction, Seconds


@pytest.fixture(scope="module")
def machine() -> Cluster:
    return hardware.cluster("azure-nd-gb300-v6")


@pytest.fixture(scope="module")
def found(machine: Cluster) -> Swings:
    return swings(machine, facility_of(machine), pattern("training"), smoothing(), 40.0)


def test_a_step_by_hand(machine: Cluster) -> None:
    """1.6 s at TDP, the first 20 ms at 1.15 of it, 0.4 s at 35 %; idle in front and behind."""
    made = course(pattern("training"), machine, 20.0)
    watts = made.watts[0]
    lead = 2500
    assert watts[:lead] == pytest.approx(205)
    assert watts[lead : lead + 19] == pytest.approx(1.15 * 1400)
    assert watts[lead + 21 : lead + 1599] == pytest.approx(1400)
    assert watts[lead + 1601 : lead + 1999] == pytest.approx(490)
    assert made.step == pytest.approx(2.0)


def test_level_power_is_the_budget(machine: Cluster) -> None:
    """At full power, rack and meter are those of `power budget`."""
    level = msgspec.structs.replace(
        pattern("training"), low=Fraction(1.0), overshoot=1.0, skew=Seconds(0.0)
    )
    facility = facility_of(machine)
    plain = swings(machine, facility, level, smoothing(), 20.0).variants[0]
    whole = budget(machine, facility)
    assert plain.rack.max() == pytest.approx(whole.power.inlet[0].sum(), rel=1e-6)
    it = plain.site.max() - plain.site.min()
    idle = budget(machine, facility, load=0.0)
    gpus = 4608 * (1400 - 205)
    assert it == pytest.approx(gpus * 1.03, rel=0.01)  # and what is lost on the way
    assert whole.power.site > idle.power.site


def test_a_rack_peaks_as_its_maker_says(found: Swings) -> None:
    """Lenovo: 155 kW."""
    assert found.variants[0].rack.max() == pytest.approx(155e3, rel=0.02)


def test_swings_sit_at_the_steps_harmonics(found: Swings) -> None:
    """A step of 2 s: nothing below 0.5 Hz, most of it in the band that holds 0.5 Hz."""
    bands = dict(zip(BANDS, found.variants[0].bands, strict=True))
    assert bands[0.1, 0.5] < 0.01 * bands[0.5, 2.0]
    # a rectangle of height h and duty 0.8: amplitudes 2 h sin(0.8 pi n) / (pi n), n = 1, 2, 3
    height = 4608 * 910 * 1.035
    size = [2 * height * np.sin(0.8 * np.pi * n) / (np.pi * n) for n in (1, 2, 3)]
    assert bands[0.5, 2.0] == pytest.approx(np.sqrt(np.square(size).sum() / 2), rel=0.05)


def test_each_means_steadies(found: Swings) -> None:
    plain, shelves, driver, both = found.variants
    assert [each.name for each in found.variants] == [
        "as it is", "shelf storage", "driver", "both",
    ]  # fmt: skip
    assert shelves.fastest < 0.3 * plain.fastest
    assert shelves.peak < plain.peak
    assert max(driver.bands) < 0.5 * max(plain.bands)
    assert both.fastest < driver.fastest
    assert plain.burnt == 0
    assert shelves.burnt < 0.001
    assert 0.03 < driver.burnt < 0.15
    assert 0 < driver.held < 0.1


def test_a_machine_without_either_has_one_variant() -> None:
    cluster = hardware.cluster("azure-nd-h100-v5", racks=4)
    made = swings(cluster, facility_of(cluster), pattern("inference"), smoothing(), 15.0)
    assert [each.name for each in made.variants] == ["as it is"]


def test_racks_on_their_own_even_out(machine: Cluster) -> None:
    """Bursts of eight independent groups: the sum swings about 1/sqrt(8) as much as together."""
    kind = pattern("inference")
    one = msgspec.structs.replace(kind, together=True)
    alone, same = (
        swings(machine, facility_of(machine), each, smoothing(), 60.0).variants[0].site[6000:-6000]
        for each in (kind, one)
    )
    assert 0.2 < alone.std() / same.std() < 0.6


def test_draws_are_the_seeds(machine: Cluster) -> None:
    kind = pattern("inference")
    first, again, other = (course(kind, machine, 12.0, seed=seed).watts for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_cap_lowers_the_swing_and_lengthens_the_step(machine: Cluster) -> None:
    free = course(pattern("training"), machine, 20.0)
    made = course(pattern("training"), machine, 20.0, cap=1200.0)
    assert made.slower > 1.02
    assert np.median(made.watts) == pytest.approx(1200, rel=1e-6)
    assert made.watts.max() < free.watts.max()


def test_limits_name_what_is_exceeded(found: Swings) -> None:
    plain = found.variants[0]
    assert Limit(ramp=1e5, reach=1e5, band=1e4).broken(plain) == ["ramp", "range", "band"]
    assert Limit(ramp=1e9).broken(plain) == []
    assert not Limit().stated
