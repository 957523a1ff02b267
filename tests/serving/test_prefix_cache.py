"""The prefix caches against an ordered dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving.oracle_cache import Cache, Tier
from racktwin.serving.prefix_cache import (
    LEFT,
    PrefixCache,
    drop,
    find,
    grown,
    hold,
    idle_units,
    insert,
    let_go,
    prefix_cache,
    put,
    trim,
)

PLACES = 3
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["use", "use", "use", "drop", "trim", "grow"]),
        st.integers(0, PLACES - 1),
        st.integers(-20, 20),
    ),
    max_size=200,
)


def use(cache: PrefixCache, plain: Cache, place: int, unit: int) -> None:
    """One more request uses a unit, if there is an entry for it."""
    entry, idle = find(cache, place, unit), unit in plain.idle
    if entry >= 0:
        assert hold(cache, entry) == idle
        plain.hold(unit)
    elif insert(cache, place, unit):
        plain.hold(unit)
    else:
        assert cache.marks[LEFT] == 0


@given(ACTIONS, st.integers(1, 12))
def test_the_caches_are_ordered_dictionaries(
    actions: list[tuple[str, int, int]], room: int
) -> None:
    cache, plains = prefix_cache(PLACES, room), [Cache() for _ in range(PLACES)]
    for action, place, unit in actions:
        plain, entry = plains[place], find(cache, place, unit)
        assert (entry >= 0) == (unit in plain.held or unit in plain.idle)
        if action == "use":
            use(cache, plain, place, unit)
        elif action == "drop" and unit in plain.held:
            plain.let_go(unit)
            assert let_go(cache, entry) == (unit in plain.idle)
        elif action == "trim":
            trim(cache, place, abs(unit) % 5)
            plain.trim(abs(unit) % 5)
        elif action == "grow" and unit > 15:
            cache = grown(cache, len(cache.entries) + 3)
        assert idle_units(cache).tolist() == [len(each.idle) for each in plains]
        used = sum(len(each.idle) + len(each.held) for each in plains)
        assert cache.marks[LEFT] == len(cache.entries) - used


def test_the_longest_idle_goes_first() -> None:
    cache = prefix_cache(1, 4)
    for unit in (7, 8, 9):
        insert(cache, 0, unit)
    for unit in (9, 8, 7):
        let_go(cache, find(cache, 0, unit))
    trim(cache, 0, 2)
    assert [find(cache, 0, unit) >= 0 for unit in (7, 8, 9)] == [True, True, False]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, 12)), max_size=100),
    st.integers(0, 6),
    st.integers(1, 6),
)
def test_tiers_are_ordered_dictionaries(
    actions: list[tuple[bool, int, int]], small: int, large: int
) -> None:
    rooms = (small, large)
    cache, plains = prefix_cache(2, small + large), [Tier(room) for room in rooms]
    written = [0, 0]
    for taken, place, unit in actions:
        plain = plains[place]
        if not taken:
            written[place] += put(cache, place, unit, rooms[place])
            plain.put(unit)
        elif unit in plain.units:
            drop(cache, place, unit)
            del plain.units[unit]
        assert idle_units(cache).tolist() == [len(each.units) for each in plains]
        assert len(plain.units) <= plain.room
        assert (find(cache, place, unit) >= 0) == (unit in plain.units)
    assert written == [each.written for each in plains]
    for place, plain in enumerate(plains):  # dropped in the same order
        for left in range(len(plain.units) - 1, -1, -1):
            trim(cache, place, left)
            plain.units.popitem(last=False)
            assert all(find(cache, place, unit) >= 0 for unit in plain.units)
    assert not idle_units(cache).any()
