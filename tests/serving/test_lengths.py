from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.lengths import Lengths, draw, mean, spread
from racktwin.units import Fraction

N = 200_000


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_fixed_lengths_are_all_equal() -> None:
    assert draw(Lengths(mean=1024), rng(), 3).tolist() == [1024] * 3


def test_the_random_range_holds_every_whole_number_between_its_ends() -> None:
    law = Lengths(law="uniform", most=1000, ratio=Fraction(0.8))
    drawn = draw(law, rng(), N)
    assert (drawn.min(), drawn.max()) == (800, 1000)
    counts = np.bincount(drawn)[800:]
    assert len(counts) == 201
    # each of 201 values N/201 times: chi-square within 5 standard deviations of its mean
    chi = float((counts - N / 201) ** 2 @ np.full(201, 201 / N))
    assert abs(chi - 200) < 5 * math.sqrt(400)


def test_a_lognormal_has_its_mean_and_cv() -> None:
    drawn = spread(Lengths(law="lognormal", mean=500, cv=0.5), rng(), N)
    assert drawn.mean() == pytest.approx(500, rel=5 * 0.5 / math.sqrt(N))
    assert drawn.std() / drawn.mean() == pytest.approx(0.5, rel=0.02)
    # its median is mean / sqrt(1 + cv^2)
    assert np.median(drawn) == pytest.approx(500 / math.sqrt(1.25), rel=0.01)


def test_an_empirical_law_repeats_its_quantiles() -> None:
    levels = tuple(Fraction(each) for each in (0.0, 0.5, 0.9, 1.0))
    law = Lengths(law="empirical", values=(10, 100, 1000, 5000), levels=levels)
    drawn = draw(law, rng(), N)
    below = [(drawn <= 100).mean(), (drawn <= 1000).mean()]
    assert below == pytest.approx([0.5, 0.9], abs=5 * 0.5 / math.sqrt(N))
    # straight lines between quantiles: the mean is the area of the trapezoids
    area = 0.5 * (10 + 100) / 2 + 0.4 * (100 + 1000) / 2 + 0.1 * (1000 + 5000) / 2
    assert mean(law) == pytest.approx(area, rel=0.01)
    even = Lengths(law="empirical", values=(0, 100, 200))
    assert spread(even, rng(), N).mean() == pytest.approx(100, rel=0.01)


def test_draws_are_cut_to_their_range() -> None:
    drawn = draw(Lengths(law="lognormal", mean=100, cv=2, least=50, most=200), rng(), 1000)
    assert (drawn.min(), drawn.max()) == (50, 200)


@given(st.integers(0, 2**32), st.sampled_from(["uniform", "lognormal", "empirical"]))
def test_a_seed_gives_the_same_bytes(seed: int, law: str) -> None:
    of = Lengths(law=law, mean=10, cv=1, most=50, values=(1, 5, 9))  # type: ignore[arg-type]
    assert draw(of, rng(seed), 100).tobytes() == draw(of, rng(seed), 100).tobytes()


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        (Lengths(least=5, most=4), "least 5 is above most 4"),
        (Lengths(law="lognormal"), "a lognormal law needs a mean above 0"),
        (Lengths(law="uniform"), "a uniform law needs its most"),
        (Lengths(law="empirical", values=(3,)), "two or more values in rising order"),
        (Lengths(law="empirical", values=(3, 1)), "two or more values in rising order"),
        (Lengths(law="empirical", values=(1, 3), levels=(Fraction(0),)), "levels must rise"),
        (Lengths(law="lognormal", mean=10, cv=1), ""),
    ],
)
def test_faults_are_named(law: Lengths, fault: str) -> None:
    assert fault in law.fault
    assert bool(fault) == bool(law.fault)
