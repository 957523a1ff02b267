"""Waiting times against theory and a small simulation."""

from __future__ import annotations

import heapq
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.queue import wait


@given(service=st.floats(1e-6, 100), load=st.floats(0, 0.999))
def test_one_server_is_exact(service: float, load: float) -> None:
    """M/D/1: load x service / 2 (1 - load)."""
    assert float(wait(service, load)) == pytest.approx(load * service / (2 * (1 - load)))


def simulated(load: float, servers: int, requests: int = 150_000) -> float:
    """Mean wait of an M/D/c queue with a service time of 1."""
    draw = random.Random(1)
    free, now, waited = [0.0] * servers, 0.0, 0.0
    for _ in range(requests):
        now += draw.expovariate(load * servers)
        start = max(now, heapq.heappop(free))
        waited += start - now
        heapq.heappush(free, start + 1.0)
    return waited / requests


@pytest.mark.parametrize(("load", "servers"), [(0.5, 2), (0.9, 2), (0.7, 4), (0.9, 8), (0.5, 16)])
def test_several_servers_are_near_a_simulation(load: float, servers: int) -> None:
    assert float(wait(1.0, load, servers)) == pytest.approx(
        simulated(load, servers), rel=0.03, abs=0.01
    )


def test_more_servers_wait_less_and_more_load_waits_longer() -> None:
    loads = np.linspace(0.01, 0.99, 50)
    one, four = wait(1.0, loads), wait(1.0, loads, 4)
    assert np.all(four < one)
    assert np.all(np.diff(four) > 0)


def test_a_full_queue_has_no_end() -> None:
    assert wait(1.0, np.array([1.0, 1.5]), 3).tolist() == [np.inf, np.inf]
    assert float(wait(1.0, 0.0)) == 0.0
