"""The simulation in the limits queueing theory knows, within the error of the sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.serving import pool

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import Rules
from racktwin.serving.pool import Pool
from racktwin.serving.queue import wait
from racktwin.serving.runner import RoundRobin
from racktwin.serving.trace import Trace
from racktwin.serving.window import Window

COUNT = 200_000
BATCHES = 20  # means of so many stretches tell the error of the mean


def simulated(
    asked: Rules, clock: Clock, rate: float, output: NDArray[np.int64], seed: int = 7
) -> NDArray[np.void]:
    """Results of Poisson arrivals of one-token prompts at `rate` per s, by number."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, len(output))
    window = Window(lambda input, output: np.ones(len(input), bool))
    held = Pool(1, asked, clock, 2 * len(output))
    kept: list[NDArray[np.void]] = []
    runner = RoundRobin(held, window, kept.append)
    runner.add(window.add(Trace.of(np.cumsum(gaps), np.ones(len(output), int), output)))
    runner.run(np.inf)
    results = np.concatenate(kept)
    return results[np.argsort(results["number"])]


def close(values: NDArray[np.float64], expected: float, bias: float = 0.0) -> None:
    """The mean is within four standard errors (by batch means) and a known relative bias."""
    means = values.reshape(BATCHES, -1).mean(axis=1)
    error = means.std(ddof=1) / BATCHES**0.5
    assert error < 0.05 * expected  # the sample says something
    assert abs(means.mean() - expected) < 4 * error + bias * expected


ONE_AT_A_TIME = pool.rules(max_batch=1, budget=1)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_constant_service(load: float) -> None:
    """M/D/1: requests of one step of one second, one at a time."""
    found = simulated(ONE_AT_A_TIME, pool.constant(), load, np.ones(COUNT, int))
    assert np.all(found["finish"] - found["admitted"] == pytest.approx(1.0))
    close(found["admitted"] - found["arrival"], float(wait(1.0, load)))


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_exponential_service(load: float) -> None:
    """M/M/1, with answers of geometric length: twice the wait of M/D/1, less half a step."""
    mean = 50
    output = np.random.default_rng(1).geometric(1 / mean, COUNT)
    clock = pool.constant(1 / mean)
    found = simulated(ONE_AT_A_TIME, clock, load, output)
    service = np.var(output) / mean**2 + np.mean(output) ** 2 / mean**2
    waited = found["admitted"] - found["arrival"]
    close(waited, load * service / (2 * (1 - load * np.mean(output) / mean)))
    assert waited.mean() == pytest.approx(load / (1 - load), rel=0.1)


@pytest.mark.parametrize("lengths", ["constant", "two sorts"])
def test_shared_service(lengths: str) -> None:
    """M/G/1 with processor sharing: a step takes as long as its sequences are many.

    The mean time in the system depends on the mean length alone, and a request of a given length
    stays in proportion. Steps are not infinitely short: half of one is waited for, and a prompt's
    own costs nothing.
    """
    load, mean, count = 0.7, 201, 60_000
    draw = np.random.default_rng(3)
    output = np.full(count, mean)
    if lengths == "two sorts":
        output = draw.choice([51, 801], count, p=[0.8, 0.2])
    token = 1 / (mean - 1)  # s of a token alone
    nothing = pool.constant(0.0, batch=512)
    decode = np.repeat(np.arange(513.0)[:, None], 2, axis=1) * token
    clock = nothing._replace(decode=np.ascontiguousarray(decode))
    asked = pool.rules(max_batch=512, budget=1024, blocks=10**6, block=16)
    found = simulated(asked, clock, load, output)
    stayed = found["finish"] - found["first"]
    close(stayed, np.mean(output - 1) * token / (1 - load), bias=0.02)
    for length in np.unique(output):
        mine = stayed[output == length]
        size = len(mine) // BATCHES * BATCHES
        close(mine[:size], (length - 1) * token / (1 - load), bias=0.02)
