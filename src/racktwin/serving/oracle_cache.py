"""The prefix cache of a rank, and the tiers below it, as the oracle sees them: dictionaries."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import takewhile


class Tier:
    """Host memory of a rank, or the shared pool: units, the longest unused first.

    room: how many (count) it holds; written: how many it has taken in.
    """

    def __init__(self, room: int) -> None:
        self.room, self.written = room, 0
        self.units: OrderedDict[int, None] = OrderedDict()

    def prefix(self, ids: Sequence[int]) -> list[int]:
        """The longest beginning of `ids` that is here."""
        return list(takewhile(self.units.__contains__, ids))

    def put(self, unit: int) -> None:
        """A unit is used: it is here, the newest, if there is any room at all."""
        if unit in self.units:
            self.units.move_to_end(unit)
        elif self.room:
            if len(self.units) == self.room:
                self.units.popitem(last=False)
            self.units[unit] = None
            self.written += 1

    def use(self, ids: Sequence[int]) -> None:
        """The units of a prefix are used; its first stays longest."""
        for unit in reversed(ids):
            self.put(unit)


class Cache:
    """held: how many running requests use a unit, by its id; idle: ids, the longest idle first.

    below: takes in what is dropped, if anything does.
    """

    def __init__(self, below: Tier | None = None) -> None:
        self.below = below
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
            unit, _ = self.idle.popitem(last=False)
            if self.below is not None:
                self.below.put(unit)
