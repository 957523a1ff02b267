"""Waves of a closed loop, against limits by hand and queues simulated prompt by prompt."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from racktwin.evidence.waves import Wave

WAVE = Wave(clients=64, work=64, jitter=200, utilisation=0.05, service=0.1, together=1)


def test_a_first_wave_goes_in_one_group_after_the_other() -> None:
    assert WAVE.first == pytest.approx(0.1 * (1 + 64) / 2)
    pairs = msgspec.structs.replace(WAVE, together=2, service=0.2)
    assert pairs.first == pytest.approx(0.2 * (1 + 32) / 2)


def test_equal_answers_meet_in_every_wave_of_an_engine_that_stalls_and_never_where_they_ride() -> (
    None
):
    equal = msgspec.structs.replace(WAVE, jitter=0.0)
    stalled = msgspec.structs.replace(equal, stalling=True)
    assert [stalled.wait(number) for number in (1, 5)] == pytest.approx([0.1 * 63 / 2] * 2)
    assert [equal.wait(number) for number in (1, 5)] == [0.0, 0.0]


@pytest.mark.parametrize("clients", [400, 1600])
def test_a_queue_that_just_keeps_up_waits_as_simulated(clients: int) -> None:
    """Prompts at random within the time their prefill takes, served one after the other."""
    drawn = np.random.default_rng(7)
    waits = []
    for _ in range(200):
        free = 0.0
        for arrival in np.sort(drawn.uniform(0, clients, clients)):
            free = max(free, arrival)
            waits.append(free - arrival)
            free += 1.0
    critical = msgspec.structs.replace(
        WAVE, clients=clients, work=clients, jitter=clients, utilisation=1.0, service=1.0
    )
    assert critical.wait(1) == pytest.approx(float(np.mean(waits)), rel=0.08)


def test_waves_blur_until_only_the_steady_load_is_left() -> None:
    waits = [WAVE.wait(number) for number in (1, 2, 5, 20, 100)]
    assert waits == sorted(waits, reverse=True)
    steady = 0.1 * 0.05 / (2 * (1 - 0.05))  # M/D/1
    assert WAVE.wait(10**6) == pytest.approx(steady, rel=1e-6)
    assert WAVE.later(0) == 0.0
    assert WAVE.later(2) == pytest.approx((WAVE.wait(1) + WAVE.wait(2)) / 2)
    assert WAVE.later(10**12) == pytest.approx(WAVE.wait(100), rel=1e-6)
