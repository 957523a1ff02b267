"""What can be measured: name x phase x size, and how."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import msgspec


class NotYet(Exception):
    """The thing to measure does not exist; the message says what is missing."""


class Work(msgspec.Struct, frozen=True):
    """What one run did: `count` of `noun` (candidates, requests, calls)."""

    count: float
    noun: str


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    name, phase, size: what is measured, which part of it, on how much.
    run: does it once and says how much was done; raises `NotYet`.
    goal: the figure to reach, as docs quote it.
    repeats: runs after a first one that only warms caches; the fastest counts.
    """

    name: str
    phase: str
    size: str
    run: Callable[[], Work]
    goal: str = ""
    repeats: int = 3


class Measured(msgspec.Struct, frozen=True):
    """The fastest run: CPU and wall time in seconds, children included."""

    cpu: float
    wall: float
    work: Work

    @property
    def rate(self) -> float:
        """Count per CPU second."""
        return self.work.count / self.cpu if self.cpu > 0 else float("inf")


def measure(benchmark: Benchmark) -> Measured:
    """Warm up once, then keep the fastest of the repeats."""
    benchmark.run()
    return min((_timed(benchmark.run) for _ in range(benchmark.repeats)), key=lambda each: each.cpu)


def _timed(run: Callable[[], Work]) -> Measured:
    wall, cpu = time.perf_counter(), _cpu_seconds()
    work = run()
    return Measured(_cpu_seconds() - cpu, time.perf_counter() - wall, work)


def _cpu_seconds() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)
