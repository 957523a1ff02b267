from __future__ import annotations

import math

import numpy as np
import pytest

from racktwin.serving.arrivals import Arrivals, clock, gaps
from racktwin.units import Rate, Seconds

N = 200_000


def work(law: Arrivals, count: int = N) -> np.ndarray:
    return np.cumsum(gaps(law, np.random.default_rng(3), count))


def test_poisson_gaps_have_mean_and_cv_of_1() -> None:
    drawn = gaps(Arrivals(), np.random.default_rng(3), N)
    assert drawn.mean() == pytest.approx(1, abs=5 / math.sqrt(N))
    assert drawn.std() == pytest.approx(1, rel=0.02)
    # the share above 2 is e^-2
    assert (drawn > 2).mean() == pytest.approx(math.exp(-2), rel=0.03)


@pytest.mark.parametrize("cv", [0.3, 2.5])
def test_gamma_gaps_have_their_cv(cv: float) -> None:
    drawn = gaps(Arrivals(law="gamma", cv=cv), np.random.default_rng(3), N)
    assert drawn.mean() == pytest.approx(1, abs=5 * cv / math.sqrt(N))
    assert drawn.std() == pytest.approx(cv, rel=0.03)


def test_constant_and_at_once() -> None:
    even = Arrivals(law="constant", rate=Rate(4.0))
    assert clock(even, work(even, 3)).tolist() == [0.25, 0.5, 0.75]
    for law in ("offline", "closed"):
        at_once = Arrivals(law=law, concurrency=8)  # type: ignore[arg-type]
        assert clock(at_once, work(at_once, 3)).tolist() == [0.0] * 3


def test_a_profile_moves_arrivals_and_keeps_the_rate() -> None:
    law = Arrivals(rate=Rate(10.0), profile=(1, 0, 3), step=Seconds(100.0))
    # a period of 300 s holds 3,000 arrivals: 750 in its first third, 2,250 in its last
    points = np.array([0.0, 375.0, 750.0001, 1875.0, 3000.0, 3375.0])
    expected = [0.0, 50.0, 200.0, 250.0, 300.0, 350.0]
    assert clock(law, points) == pytest.approx(expected, abs=1e-4)
    arrival = clock(law, work(law, 60_000))
    thirds = np.bincount((arrival % 300 // 100).astype(int)) / len(arrival)
    assert thirds == pytest.approx([0.25, 0, 0.75], abs=0.01)
    assert (np.diff(arrival) >= 0).all()


def test_a_day_has_hours() -> None:
    hours = tuple(1 + 0.5 * math.sin(hour / 24 * 2 * math.pi) for hour in range(24))
    day = Arrivals(rate=Rate(2.0), profile=hours)
    arrival = clock(day, work(day))
    counts = np.bincount((arrival[arrival < 86400] // 3600).astype(int))
    assert counts / 7200 == pytest.approx(hours, abs=5 / math.sqrt(3600))


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        (Arrivals(law="closed"), "needs its concurrency"),
        (Arrivals(law="gamma", cv=0), "needs a cv above 0"),
        (Arrivals(profile=(0.0, 0.0)), "a factor above 0"),
        (Arrivals(profile=(1.0,), step=Seconds(0.0)), "a step above 0"),
        (Arrivals(), ""),
    ],
)
def test_faults_are_named(law: Arrivals, fault: str) -> None:
    assert fault in law.fault
    assert bool(fault) == bool(law.fault)
