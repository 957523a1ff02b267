from __future__ import annotations

import numpy as np
import pytest

from racktwin.serving.traces.profile import BINS, Profile


def profile(arrival: np.ndarray) -> Profile:
    made = Profile()
    for part in np.array_split(arrival, 3):
        made.add(part)
    return made


def test_bins_widen_and_lose_nothing() -> None:
    made = profile(np.linspace(0, 10_000, 5001))
    assert made.width == 16.0
    assert made.counts.sum() == 5001
    assert len(made.counts) == BINS
    assert made.rates() == pytest.approx(np.full(10, 0.5), rel=0.05)


def test_an_even_load_needs_no_warning() -> None:
    assert profile(np.linspace(0, 100, 1000)).warning() == ""
    assert Profile().warning() == ""
    assert profile(np.zeros(1000)).warning() == ""


def test_a_rush_at_the_start_is_told() -> None:
    arrival = np.concatenate([np.linspace(0, 1, 900), np.linspace(1, 100, 100)])
    assert "in the first tenth of the time, no more than" in profile(arrival).warning()
