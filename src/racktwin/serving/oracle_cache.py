"""The prefix cache of a rank as the oracle sees it: two dictionaries."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence


class Cache:
    """held: how many running requests use a unit, by its id; idle: ids, the longest idle first."""

    def __init__(self) -> None:
        self.held: Counter[int] = Counter()
        self.idle: OrderedDict[int, None] = OrderedDict()

    @property
    def again(self) -> int:
        """Units that are held, once for each request after the first."""
        return self.held.total() - len(self.held)

    def prefix(self, ids: Sequence[int]) -> list[int]:
        """The longest beginning of `ids` that is cached."""
        count = 0
        while count < len(ids) and (ids[count] in self.held or ids[count] in self.idle):
            count += 1
        return list(ids[:count])

    def hold(self, unit: int) -> None:
        """One more request uses a unit, which may be new."""
        self.idle.pop(unit, None)
        self.held[unit] += 1

    def let_go(self, unit: int) -> None:
        """One request less uses a unit."""
        self.held[unit] -= 1
        if not self.held[unit]:
            del self.held[unit]
            self.idle[unit] = None

    def trim(self, room: float) -> None:
        """Drop the longest idle until no more than `room` of them (count) are left."""
        while len(self.idle) > max(room, 0):
            self.idle.popitem(last=False)
