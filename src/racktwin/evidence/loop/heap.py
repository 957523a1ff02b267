"""A binary heap in two arrays: keys (any unit), and the numbers that go with them."""

from __future__ import annotations

from racktwin.evidence.loop.compiled import inlined
from racktwin.evidence.loop.requests import Floats, Ints


@inlined
def push(keys: Floats, numbers: Ints, size: int, key: float, number: int) -> None:
    """Add a `key` (any unit) and its number to a heap that holds `size`."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if keys[above] <= key:
            break
        keys[place], numbers[place] = keys[above], numbers[above]
        place = above
    keys[place], numbers[place] = key, number


@inlined
def pop(keys: Floats, numbers: Ints, size: int) -> None:
    """Drop the smallest of a heap that holds `size`; it stands at 0 before."""
    last = size - 1
    key, number = keys[last], numbers[last]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        if below + 1 < last and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], numbers[place] = keys[below], numbers[below]
        place = below
    keys[place], numbers[place] = key, number
