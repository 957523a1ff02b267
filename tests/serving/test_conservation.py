"""What every run must add up to: checked in each of them, and here with sums put wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.serving.test_simulation import poisson, rows, run, served

from racktwin.serving import conservation
from racktwin.serving.fleet import BUSY, DECODED, JOULES, PREFILLED
from racktwin.serving.outcome import outcome, readings
from racktwin.serving.simulation import Simulation
from racktwin.serving.trace import Trace


def faults(done: Simulation) -> str:
    return "; ".join(conservation.broken(done))


def test_a_run_adds_up() -> None:
    assert not faults(run(poisson(500, 60.0)))


@pytest.mark.parametrize(
    ("index", "change", "said"),
    [
        (PREFILLED, 1, "tokens of prompts were computed"),
        (PREFILLED, -1, "tokens of prompts were computed"),
        (DECODED, -1, "tokens were won in decode steps"),
        (JOULES, 1e9, "J in"),
        (JOULES, -1e9, "J in"),
        (BUSY, 1e9, "s of steps in"),
    ],
)
def test_sums_that_are_wrong_are_found(index: int, change: float, said: str) -> None:
    done = run(poisson(500, 60.0))
    done.runner.pools["serve"].state.sums[index] += change
    assert said in faults(done)


@pytest.mark.parametrize("what", ["used", "outstanding"])
def test_what_is_left_is_found(what: str) -> None:
    done = run(poisson(500, 60.0))
    state = done.runner.pools["serve"].state
    (state.ranks if what == "used" else state.replicas)[what] += 3
    assert ("blocks are in use" if what == "used" else "requests are left") in faults(done)


def test_a_run_that_does_not_add_up_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_one(done: Simulation) -> Any:
        yield "one token is missing"

    monkeypatch.setattr("racktwin.serving.simulation.broken", lose_one)
    with pytest.raises(RuntimeError, match="does not add up: one token is missing"):
        run(poisson(100, 60.0))


def test_power_over_time_is_the_energy_of_the_steps_and_of_the_floor_between() -> None:
    done = run(poisson(4000, 60.0))
    found, chip = outcome(done), served().deployment.cluster.chip
    times, joules = done.timeline.times, readings(done, "serve", JOULES)
    busy = readings(done, "serve", BUSY)
    inside = [at for at in times if found.span.begin <= at <= found.span.end]
    begin, end = times.index(inside[0]), times.index(inside[-1])
    gpus = found.gpus * (times[end] - times[begin])  # GPU seconds
    floor = (gpus - (busy[end] - busy[begin])) * chip.idle_power
    assert found.watts * gpus == pytest.approx(joules[end] - joules[begin] + floor, rel=0.01)
    assert chip.idle_power < found.watts < chip.tdp


def agents(count: int, rate: float) -> Trace:
    """Sessions of four turns, 2 s between a completion and the next turn, `rate` requests/s."""
    one = poisson(count // 4, rate / 4, input=400, output=100)
    arrival = np.repeat(one.arrival, 4)
    turn = np.tile(np.arange(4), count // 4)
    order = np.lexsort((turn, arrival + 2.0 * turn))
    place = np.argsort(order)
    after = np.where(turn > 0, np.roll(place, 1), -1)[order]
    return Trace.of(
        (arrival + 2.0 * turn)[order],
        np.repeat(one.input, 4)[order],
        np.repeat(one.output, 4)[order],
        after=after,
        pause=np.where(turn > 0, 2.0, 0.0)[order],
        session=np.repeat(np.arange(count // 4), 4)[order],
    )


def test_with_sessions_it_counts_once_sessions_of_every_age_can_be_there() -> None:
    """Turns come a completion and 2 s after each other: the oldest about 8 s after the first."""
    done, told = rows(agents(8000, 40.0))
    found = outcome(done)
    first = told["arrival"][told["request"] == 0]
    assert first < 1
    assert 6 < found.warm_up < 10
    assert found.span.begin >= found.warm_up
    assert found.requests == pytest.approx(40.0, rel=0.03)
    assert not found.span.short
    brief = outcome(run(agents(400, 40.0)))  # 10 s: ends before sessions of every age are there
    assert brief.span.whole
    assert brief.short
    assert outcome(run(poisson(400, 40.0))).warm_up == 0
