"""Swings by frequency, ramps and ranges against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.facility.spectrum import BANDS, band, ramps, spectrum, widest

TIME = np.arange(20_000) * 1e-3


def test_a_sine_is_its_amplitude_over_root_two_in_its_band() -> None:
    watts = 5e6 + 1e6 * np.sin(2 * np.pi * 3 * TIME) + 2e5 * np.sin(2 * np.pi * 10 * TIME)
    found = [band(watts, low, high) for low, high in BANDS]
    assert found == pytest.approx([0, 0, 1e6 / 2**0.5, 2e5 / 2**0.5], abs=1)


def test_a_square_wave_by_its_fourier_series() -> None:
    """0.5 Hz between 0 and 1 W, half the time each: odd harmonics of amplitude 2/(pi n)."""
    watts = (TIME % 2 < 1).astype(float)
    frequency, size = spectrum(watts)
    for n in (1, 3, 5):
        at = int(np.argmin(np.abs(frequency - 0.5 * n)))
        assert size[at] == pytest.approx(2 / (np.pi * n) / 2**0.5, rel=1e-3)


def test_parseval() -> None:
    watts = np.random.default_rng(1).normal(1e6, 2e5, 5001)
    assert np.sqrt((spectrum(watts)[1] ** 2).sum()) == pytest.approx(watts.std())


def test_ramps_of_a_straight_rise() -> None:
    """2 MW/s for 1 s, then level: means over 0.1 s rise as fast."""
    watts = np.minimum(np.arange(5000) * 2e3, 2e6)
    assert ramps(watts, 0.1) == pytest.approx((2e6, 0.0))
    assert ramps(-watts, 0.1) == pytest.approx((0.0, 2e6))
    assert ramps(watts[:100], 0.1) == (0.0, 0.0)


def test_a_step_rises_by_its_height_in_one_window() -> None:
    watts = np.where(np.arange(10_000) < 5000, 1e6, 4e6)
    assert ramps(watts, 1.0) == pytest.approx((3e6, 0.0))
    assert widest(watts, 1.0) == pytest.approx(3e6)
    assert widest(np.linspace(0, 1e6, 100_001), 10.0) == pytest.approx(1e6 * 11 / 100, rel=1e-3)
