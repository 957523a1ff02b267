"""The prefix cache against an ordered dictionary."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.prefix_cache import (
    IDLE,
    evict,
    find,
    hold,
    insert,
    let_go,
    prefix_cache,
    trim,
)

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["use", "use", "use", "drop", "trim"]), st.integers(0, 40)),
    max_size=200,
)


class Plain:
    """Holders by id, and the idle ids from the oldest to the newest."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held: dict[int, int] = {}
        self.idle: OrderedDict[int, None] = OrderedDict()

    def use(self, block: int) -> bool:
        if block in self.held:
            self.held[block] += 1
        elif block in self.idle:
            del self.idle[block]
            self.held[block] = 1
        else:
            if len(self.held) + len(self.idle) == self.room:
                if not self.idle:
                    return False
                self.idle.popitem(last=False)
            self.held[block] = 1
        return True

    def drop(self, block: int) -> None:
        self.held[block] -= 1
        if not self.held[block]:
            del self.held[block]
            self.idle[block] = None


@given(ACTIONS, st.integers(1, 12))
def test_the_cache_is_an_ordered_dictionary(actions: list[tuple[str, int]], room: int) -> None:
    cache, plain = prefix_cache(2, room), Plain(room)
    for action, block in actions:
        entry = find(cache, 1, block)
        assert (entry >= 0) == (block in plain.held or block in plain.idle)
        if action == "use":
            idle = block in plain.idle
            kept = plain.use(block)
            if entry >= 0:
                assert hold(cache, 1, entry) == idle
            else:
                assert (insert(cache, 1, block) >= 0) == kept
        elif action == "drop" and block in plain.held:
            plain.drop(block)
            assert let_go(cache, 1, entry) == (block in plain.idle)
        elif action == "trim":
            trim(cache, 1, float(block % 5))
            while len(plain.idle) > block % 5:
                plain.idle.popitem(last=False)
        assert cache.ends[1, IDLE] == len(plain.idle)
    assert (cache.table[0] == -1).all()


def test_the_longest_idle_goes_first() -> None:
    cache = prefix_cache(1, 4)
    for block in (7, 8, 9):
        insert(cache, 0, block)
    for block in (9, 8, 7):
        let_go(cache, 0, find(cache, 0, block))
    evict(cache, 0)
    assert [find(cache, 0, block) >= 0 for block in (7, 8, 9)] == [True, True, False]
