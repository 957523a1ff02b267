"""Caps and locked clocks: by hand, at the bounds, and monotone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.facility.clock import at_clock, capped, law, work_of

IDLE = 205.0


def test_half_the_clock_by_hand() -> None:
    """1 s, 60 % of it on the core, 80 % of 1,000 W above idle there: 0.6/0.5 + 0.4 = 1.6 s;
    800 J x 0.25 + 200 J = 400 J, so 205 + 250 W."""
    work = work_of(1.0, 0.6, 0.8, 1205.0, IDLE)
    run = at_clock(work, 0.5)
    assert run.seconds == pytest.approx(1.6)
    assert run.watts == pytest.approx(205 + 250)


def test_a_cap_that_does_not_bind_changes_nothing() -> None:
    run = capped(work_of(1.0, 0.6, 0.8, 1205.0, IDLE), 1400.0)
    assert (run.clock, run.seconds, run.watts) == (1.0, 1.0, 1205.0)


def test_a_cap_is_met_and_what_hbm_bounds_keeps_its_time() -> None:
    """The same cap costs work on the core time, work on HBM none but what little the core does."""
    work = work_of(np.ones(2), np.array([1.0, 0.0]), np.array([0.9, 0.3]), 1205.0, IDLE)
    run = capped(work, 1000.0)
    assert run.watts == pytest.approx([1000.0, 1000.0], rel=1e-6)
    assert run.seconds[1] == 1.0
    assert run.seconds[0] > 1.05
    # 1000 above idle, 900 on the core: (900 c^2 + 100) c = 795
    assert 900 * run.clock[0] ** 3 + 100 * run.clock[0] == pytest.approx(795, rel=1e-6)


def test_a_cap_below_the_lowest_clock_is_not_kept() -> None:
    run = capped(work_of(1.0, 0.0, 0.0, 1205.0, IDLE), 300.0)
    assert run.clock == pytest.approx(float(law().floor))
    assert run.watts == pytest.approx(1205.0)


def test_a_locked_clock() -> None:
    run = capped(work_of(1.0, 1.0, 1.0, 1205.0, IDLE), 1400.0, locked=0.8)
    assert run.clock == pytest.approx(0.8)
    assert run.seconds == pytest.approx(1.25)
    assert run.watts == pytest.approx(205 + 1000 * 0.8**3)


@given(busy=st.floats(0, 1), core=st.floats(0, 1), low=st.floats(210, 1400), more=st.floats(0, 800))
def test_a_higher_cap_never_slows(busy: float, core: float, low: float, more: float) -> None:
    work = work_of(1.0, busy, core, 1400.0, IDLE)
    tight, loose = capped(work, low), capped(work, low + more)
    assert loose.seconds <= tight.seconds * (1 + 1e-12)
    assert tight.watts <= max(low, float(at_clock(work, law().floor).watts)) + 1e-6
    assert tight.seconds >= 1.0
