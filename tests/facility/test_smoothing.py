"""The driver's smoothing and the shelves' storage: by hand, bounds, conservation."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin.facility.smoothing import Smoothing, driven, smoothing, stored
from racktwin.units import Fraction, Seconds

TDP, IDLE = 1000.0, 200.0
PLAIN = Smoothing(
    title="", floor=Fraction(0.8), ramp_up=Fraction(1.0), ramp_down=Fraction(0.5),
    hysteresis=Seconds(0.1), storage_loss=Fraction(0.0),
)  # fmt: skip


def job(*parts: tuple[float, float]) -> np.ndarray:
    """A row of (watts, seconds) after one another."""
    return np.concatenate([np.full(round(s * 1000), w) for w, s in parts])[None, :]


def test_the_ramp_up_is_a_rising_cap() -> None:
    """From 200 to 1,000 W at 1,000 W/s: 0.8 s, in which 320 J of work wait."""
    found = driven(job((200, 0.5), (1000, 2)), TDP, IDLE, PLAIN)
    assert found.watts[0, 500] == pytest.approx(201)
    assert found.watts[0, 1299] == pytest.approx(1000)
    assert found.held[0] == pytest.approx(sum(range(800)) * 1e-3)
    assert found.burnt[0] == 0


def test_the_floor_is_burnt_while_the_job_runs() -> None:
    """0.5 s at 400 W below a floor of 800 W: 200 J; back up from it at 1,000 W/s."""
    found = driven(job((1000, 1), (400, 0.5), (1000, 1)), TDP, IDLE, PLAIN)
    assert found.watts[0, 1000:1500] == pytest.approx(800)
    assert found.burnt[0] == pytest.approx(0.5 * 400)
    assert found.watts[0, 1600] == pytest.approx(901)


def test_the_end_waits_and_then_falls_at_its_rate() -> None:
    """0.1 s at the floor, then 500 W/s down to idle: 1.2 s."""
    found = driven(job((1000, 1), (200, 3)), TDP, IDLE, PLAIN)
    assert found.watts[0, 1000:1099] == pytest.approx(800)
    assert found.watts[0, 1700] == pytest.approx(800 - 0.5 * 601, abs=1.5)
    assert found.watts[0, 2400:] == pytest.approx(200)
    down = 1.2 * 600 / 2 + 0.1 * 600
    assert found.burnt[0] == pytest.approx(down, rel=0.01)


def test_a_floor_of_90_percent_costs_about_what_is_reported() -> None:
    """A tenth of the energy, of a job with a fifth of its time at low power (turbine_post)."""
    steps = job(*[(1400.0, 1.6), (490.0, 0.4)] * 20)
    used = msgspec.structs.replace(smoothing(), floor=Fraction(0.9))
    found = driven(steps, 1400.0, 205.0, used)
    assert found.burnt[0] / (steps.sum() * 1e-3) == pytest.approx(0.105, abs=0.04)


def test_a_store_gives_back_what_it_took() -> None:
    """One swing up and down: the same energy, less than the store moved, a lower peak."""
    demand = job((50e3, 1), (90e3, 0.1), (50e3, 2))
    found = stored(demand, 4680.0, 0.0)
    moved = np.cumsum((demand - found.watts)[0]) * 1e-3
    assert moved[-1] == pytest.approx(0, abs=1)
    assert moved.max() <= 4680
    # time constant 4,680 J / 40 kW = 117 ms: after 100 ms 1 - exp(-100/117) of the swing
    assert found.watts.max() == pytest.approx(50e3 + 40e3 * -np.expm1(-100 / 117), rel=1e-6)


def test_what_goes_through_the_store_costs() -> None:
    demand = job((50e3, 1), (90e3, 0.1), (50e3, 2))
    free, dear = stored(demand, 4680.0, 0.0), stored(demand, 4680.0, 0.04)
    through = np.abs(free.watts - demand).sum() * 1e-3 / 2
    assert dear.burnt[0] == pytest.approx(0.04 * through)
    assert (dear.watts - free.watts).sum() * 1e-3 == pytest.approx(0.04 * through)


def test_no_store_changes_nothing() -> None:
    demand = job((50e3, 0.1), (90e3, 0.1))
    assert (stored(demand, 0.0, 0.04).watts == demand).all()


@settings(max_examples=40, deadline=None)
@given(
    levels=st.lists(st.floats(200, 1000), min_size=2, max_size=12),
    floor=st.floats(0, 1),
    up=st.floats(0.1, 5),
)
def test_ramps_hold_and_energy_adds_up(levels: list[float], floor: float, up: float) -> None:
    demand = job(*[(level, 0.2) for level in levels])
    used = msgspec.structs.replace(PLAIN, floor=Fraction(floor), ramp_up=Fraction(up))
    found = driven(demand, TDP, IDLE, used)
    assert (np.diff(found.watts) <= up * TDP * 1e-3 + 1e-9).all()
    assert found.watts.max() <= max(TDP * floor, demand.max()) + 1e-9
    change = (found.watts - demand).sum() * 1e-3
    assert found.burnt[0] - found.held[0] == pytest.approx(change, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(levels=st.lists(st.floats(40e3, 150e3), min_size=2, max_size=12), joules=st.floats(1, 2e4))
def test_a_store_never_holds_more_than_it_can(levels: list[float], joules: float) -> None:
    demand = job(*[(level, 0.1) for level in levels])
    found = stored(demand, joules, 0.0)
    held = np.cumsum((demand - found.watts)[0]) * 1e-3
    assert held.max() - held.min() <= joules * (1 + 1e-3) + max(levels) * 1e-3
    assert found.watts.max() <= demand.max() + 1e-6
    assert found.watts.min() >= demand.min() - 1e-6
