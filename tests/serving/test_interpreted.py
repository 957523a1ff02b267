"""The simulation as plain Python, with NUMBA_DISABLE_JIT=1, is the compiled one to the bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.serving import pool
from tests.serving.test_simulation import rows

from racktwin.serving.oracle import Request, Result
from racktwin.serving.oracle_pair import Pool
from racktwin.serving.trace import Trace

COUNT = 40


def requests(unit: int = 0) -> list[Request]:
    """Requests of many sizes, close together; `unit`, tokens: many prompts begin alike."""
    made = []
    for n in range(COUNT):
        prompt = 5 + 7 * n % 37
        ids = tuple(range(n % 3 * 100, n % 3 * 100 + prompt // unit)) if unit else ()
        made.append(Request(0.004 * n, prompt, 1 + 5 * n % 23, n % 2, ids=ids))
    return made


def runs() -> Iterator[list[Result]]:
    """In turn, routed by unmixed engines, a closed loop, a prefix cache, separate pools."""
    clock, engine = pool.uneven(), pool.rules(blocks=20, ranks=2)
    yield pool.run(engine, clock, requests()).results
    unmixed = engine._replace(mixed=False, reserve=2)
    for router in ("least_kv", "power_of_two"):
        yield pool.run(unmixed, clock, requests(), 3, router).results
    loop = [each._replace(arrival=0.0) for each in requests()]
    yield pool.run(engine, clock, loop, 2, "least_outstanding", concurrency=9).results
    yield pool.run(engine._replace(unit=4), clock, requests(4), 2, "kv_aware").results
    side = Pool(engine, clock, 2, "least_outstanding")
    yield pool.run_pair(side, side, requests(), (0.001, 1e-4))[0]


def a_simulation() -> dict[str, list[float]]:
    """A short trace through a deployment, times in s."""
    turn = np.arange(12)
    trace = Trace.of(turn * 0.01, turn * 40 + 100, turn % 7 + 1)
    told = rows(trace, router="least_outstanding")[1]
    return {name: told[name].tolist() for name in ("first", "second", "finish")}


def text() -> str:
    """All results to the last digit."""
    return "\n".join(map(repr, [*runs(), a_simulation()]))


def test_interpreted_is_compiled(root: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.serving.test_interpreted"]
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == text()


def test_the_runs_are_hard_enough() -> None:
    found = [result for results in runs() for result in results]
    assert sum(result.losses for result in found) > 10
    assert sum(result.cached > 0 for result in found) > 10


if __name__ == "__main__":
    print(text())
