"""The prefix caches of a pool: units of finished prompts kept while nobody needs their room.

A unit is a whole number of KV blocks, known by the id of its whole prefix (equal ids are equal text
behind equal text). One that running requests share is held; one that nobody holds is idle and
goes when room is short, the longest idle first. Of one request the last unit becomes idle first, so
that a prefix outlives what follows it (vLLM V1; SGLang's radix cache evicts its leaves alike).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled

Ints = NDArray[np.int64]


class PrefixCache(NamedTuple):
    """The caches of all ranks in one. place: replica x ranks + rank.

    entries: the units, found through chains of those of one hash. marks: see below; then three for
    each place. Two arrays, because every compiled call hands them on.
    """

    entries: NDArray[Any]
    marks: Ints


# holders: requests that use the unit, -1 of a free entry; older, newer: among the idle;
# newer: of free entries the next. first: of the units whose hash is the number of this entry, + 1;
# after: the next of those of the same hash, + 1.
FIELDS = [("id", "i8")]
FIELDS += [(name, "i4") for name in ("place", "holders", "older", "newer", "first", "after")]
ENTRY = np.dtype((np.record, FIELDS))
# First of the free entries that were used before, first that never was, free ones of both kinds,
# units that arrived requests may still bring, what the last one refused wanted, entries that
# always suffice.
FREE, FRESH, LEFT, OWED, ASKED, MOST = range(6)
# Of a place: oldest and newest idle entry, -1 for none, and how many.
OLDEST, NEWEST, IDLE = range(6, 9)
EACH = 3


def prefix_cache(places: int, entries: int, most: int = 0) -> PrefixCache:
    """Empty caches of `places` ranks with room for `entries` units between them."""
    general = [-1, 0, entries, 0, 0, max(most, entries)]
    marks = np.array(general + [-1, -1, 0] * places, np.int64)
    return PrefixCache(np.zeros(entries, ENTRY), marks)


def grown(cache: PrefixCache, entries: int) -> PrefixCache:
    """The same caches with room for `entries` units, which is more than before."""
    more = np.zeros(entries - len(cache.entries), ENTRY)
    cache.marks[LEFT] += len(more)
    made = PrefixCache(np.concatenate([cache.entries, more]), cache.marks)
    made.entries["first"] = 0
    chain_all(made)
    return made


def idle_units(cache: PrefixCache) -> Ints:
    """Idle units of each place."""
    return cache.marks[IDLE::EACH]


@compiled
def home(cache: PrefixCache, place: int, block: int) -> int:
    """The entry that has the first of the units with the hash of this one."""
    mixed = np.uint64(block) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32)) ^ np.uint64(place)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(24)) % np.uint64(len(cache.entries)))


@compiled
def find(cache: PrefixCache, place: int, block: int) -> int:
    """The entry of an id, -1 when it is not cached."""
    if len(cache.entries) == 0:
        return np.int64(-1)
    entry = np.int64(cache.entries[home(cache, place, block)].first) - 1
    while entry >= 0:
        if cache.entries[entry].id == block and cache.entries[entry].place == place:
            return entry
        entry = np.int64(cache.entries[entry].after) - 1
    return np.int64(-1)


@compiled
def chain(cache: PrefixCache, entry: int) -> None:
    """Let an entry be found."""
    at = home(cache, np.int64(cache.entries[entry].place), cache.entries[entry].id)
    cache.entries[entry].after = cache.entries[at].first
    cache.entries[at].first = entry + 1


@compiled
def chain_all(cache: PrefixCache) -> None:
    """Let all entries that are in use be found."""
    for entry in range(cache.marks[FRESH]):
        if cache.entries[entry].holders >= 0:
            chain(cache, entry)


@compiled
def forget(cache: PrefixCache, entry: int) -> None:
    """Take an entry out of its chain and give it back."""
    at = home(cache, np.int64(cache.entries[entry].place), cache.entries[entry].id)
    if cache.entries[at].first == entry + 1:
        cache.entries[at].first = cache.entries[entry].after
    else:
        before = np.int64(cache.entries[at].first) - 1
        while cache.entries[before].after != entry + 1:
            before = np.int64(cache.entries[before].after) - 1
        cache.entries[before].after = cache.entries[entry].after
    cache.entries[entry].holders = -1
    cache.entries[entry].newer = cache.marks[FREE]
    cache.marks[FREE] = entry
    cache.marks[LEFT] += 1


@compiled
def take_from_idle(cache: PrefixCache, entry: int) -> None:
    """Unlink an entry from the idle ones."""
    place = EACH * cache.entries[entry].place
    older, newer = cache.entries[entry].older, cache.entries[entry].newer
    if older < 0:
        cache.marks[place + OLDEST] = newer
    else:
        cache.entries[older].newer = newer
    if newer < 0:
        cache.marks[place + NEWEST] = older
    else:
        cache.entries[newer].older = older
    cache.marks[place + IDLE] -= 1


@compiled
def hold(cache: PrefixCache, entry: int) -> bool:
    """One more request uses the unit; whether it was idle before."""
    cache.entries[entry].holders += 1
    if cache.entries[entry].holders > 1:
        return False
    take_from_idle(cache, entry)
    return True


@compiled
def let_go(cache: PrefixCache, entry: int) -> bool:
    """One request less uses the unit; whether it is idle now."""
    cache.entries[entry].holders -= 1
    if cache.entries[entry].holders:
        return False
    place = EACH * cache.entries[entry].place
    newest = cache.marks[place + NEWEST]
    cache.entries[entry].older, cache.entries[entry].newer = newest, -1
    if newest < 0:
        cache.marks[place + OLDEST] = entry
    else:
        cache.entries[newest].newer = entry
    cache.marks[place + NEWEST] = entry
    cache.marks[place + IDLE] += 1
    return True


@compiled
def insert(cache: PrefixCache, place: int, block: int) -> bool:
    """A new unit that one request uses; False when there is no entry left."""
    if cache.marks[LEFT] == 0:
        return False
    entry = cache.marks[FREE]
    if entry >= 0:
        cache.marks[FREE] = cache.entries[entry].newer
    else:
        entry = cache.marks[FRESH]
        cache.marks[FRESH] += 1
    cache.marks[LEFT] -= 1
    cache.entries[entry].id, cache.entries[entry].place = block, place
    cache.entries[entry].holders = 1
    chain(cache, entry)
    return True


@compiled
def trim(cache: PrefixCache, place: int, room: int) -> None:
    """Drop the longest idle units of a rank until no more than `room` of them are left."""
    while cache.marks[EACH * place + IDLE] > room:
        entry = cache.marks[EACH * place + OLDEST]
        take_from_idle(cache, entry)
        forget(cache, entry)


@compiled
def put(cache: PrefixCache, place: int, block: int, room: int) -> bool:
    """Make a unit the newest of a tier, all of whose units are idle; whether it is new there.

    room: units the tier holds; the oldest goes for a new one.
    """
    entry = find(cache, place, block)
    if entry >= 0:
        hold(cache, entry)
        let_go(cache, entry)
        return False
    if room == 0:
        return False
    trim(cache, place, room - 1)
    if not insert(cache, place, block):
        return False
    let_go(cache, find(cache, place, block))
    return True


@compiled
def drop(cache: PrefixCache, place: int, block: int) -> None:
    """Take a unit out of a tier."""
    entry = find(cache, place, block)
    take_from_idle(cache, entry)
    forget(cache, entry)
