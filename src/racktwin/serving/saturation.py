"""Saturation: the highest load that holds, by trying one after the other; what holds is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
STEP = 1.25  # between loads while one side of the answer is not known; it grows
SHALLOW = 200  # times below the steady state's largest load the search goes down
MOST = 24  # trials of a search


@dataclass(frozen=True)
class Tried(Generic[T]):
    """Trials by load, requests/s. low: the largest that holds; high: the smallest that does not.

    0 where there is none.
    """

    done: dict[float, T]
    low: float
    high: float

    @property
    def highest(self) -> T | None:
        """The trial at the largest load that holds."""
        return self.done.get(self.low)

    @property
    def next(self) -> T | None:
        """The trial at the smallest load that does not."""
        return self.done.get(self.high)


def search(
    at: Callable[[float], T],
    holds: Callable[[T], bool],
    *,
    guess: float,
    top: float,
    close: float,
) -> Tried[T]:
    """Try loads `at` requests/s from `guess` on; none below 1/`SHALLOW` of `top`.

    close: ratio of the lowest load that fails to the highest that holds, in the end.
    """
    done: dict[float, T] = {}
    low = high = 0.0
    rate, step = guess, STEP
    while len(done) < MOST:
        done[rate] = at(rate)
        if holds(done[rate]):
            low = rate
        else:
            high = rate
        if not low and high <= top / SHALLOW:
            break
        if low and high:
            if high <= close * low:
                break
            rate = (low * high) ** 0.5
        else:
            rate = low * step if low else max(high / step, top / SHALLOW)
            step *= STEP
    return Tried(done, low, high)
