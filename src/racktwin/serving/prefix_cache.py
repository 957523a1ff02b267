"""The prefix cache of a rank: blocks of finished prompts kept while nobody needs their room.

Blocks are known by the id of their whole prefix (equal ids are equal text behind equal text). A
block that running requests share is held; one that nobody holds is idle and goes when room is
short, the longest idle first. Of one request the last block becomes idle first, so that a prefix
outlives what follows it (vLLM V1, SGLang's radix cache at this granularity).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Ints, record


class PrefixCache(NamedTuple):
    """Caches of all ranks; first axis: replica x ranks + rank.

    table: places of entries by hash of their id, -1 empty. entries: (rank, entry). ends: oldest
    and newest idle entry, idle ones, first of the chain of free ones.
    """

    table: Ints
    entries: NDArray[Any]
    ends: Ints


# holders: requests that use the block; older, newer: among the idle; newer: of free ones the next.
ENTRY = record(floats="", ints="id holders older newer")
OLDEST, NEWEST, IDLE, FREE = range(4)


def prefix_cache(ranks: int, entries: int) -> PrefixCache:
    """Empty caches with room for `entries` blocks in each of `ranks` ranks."""
    size = 1 << max(2, int(np.ceil(np.log2(2 * entries + 2))))
    made = np.zeros((ranks, entries), ENTRY)
    made["newer"] = np.append(np.arange(1, entries), -1) if entries else -1
    ends = np.full((ranks, 4), -1, np.int64)
    ends[:, IDLE], ends[:, FREE] = 0, 0 if entries else -1
    return PrefixCache(np.full((ranks, size), -1, np.int64), made, ends)


@compiled
def home(cache: PrefixCache, block: int) -> int:
    """Where in the table the search for a block id starts (Fibonacci hashing)."""
    mixed = np.uint64(block) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & (cache.table.shape[1] - 1)


@compiled
def find(cache: PrefixCache, rank: int, block: int) -> int:
    """The entry of a block id, -1 when it is not cached."""
    at = home(cache, block)
    while cache.table[rank, at] >= 0:
        if cache.entries[rank, cache.table[rank, at]].id == block:
            return cache.table[rank, at]
        at = (at + 1) & (cache.table.shape[1] - 1)
    return -1


@compiled
def forget(cache: PrefixCache, rank: int, entry: int) -> None:
    """Take an entry out of the table and give it back; entries behind it close the gap."""
    mask = cache.table.shape[1] - 1
    at = home(cache, cache.entries[rank, entry].id)
    while cache.table[rank, at] != entry:
        at = (at + 1) & mask
    gap = at
    while True:
        at = (at + 1) & mask
        other = cache.table[rank, at]
        if other < 0:
            break
        start = home(cache, cache.entries[rank, other].id)
        if (at - start) & mask >= (at - gap) & mask:
            cache.table[rank, gap] = other
            gap = at
    cache.table[rank, gap] = -1
    cache.entries[rank, entry].newer = cache.ends[rank, FREE]
    cache.ends[rank, FREE] = entry


@compiled
def take_from_idle(cache: PrefixCache, rank: int, entry: int) -> None:
    """Unlink an entry from the idle ones."""
    older, newer = cache.entries[rank, entry].older, cache.entries[rank, entry].newer
    if older < 0:
        cache.ends[rank, OLDEST] = newer
    else:
        cache.entries[rank, older].newer = newer
    if newer < 0:
        cache.ends[rank, NEWEST] = older
    else:
        cache.entries[rank, newer].older = older
    cache.ends[rank, IDLE] -= 1


@compiled
def hold(cache: PrefixCache, rank: int, entry: int) -> bool:
    """One more request uses the block; whether it was idle before."""
    cache.entries[rank, entry].holders += 1
    if cache.entries[rank, entry].holders > 1:
        return False
    take_from_idle(cache, rank, entry)
    return True


@compiled
def let_go(cache: PrefixCache, rank: int, entry: int) -> bool:
    """One request less uses the block; whether it is idle now."""
    cache.entries[rank, entry].holders -= 1
    if cache.entries[rank, entry].holders:
        return False
    newest = cache.ends[rank, NEWEST]
    cache.entries[rank, entry].older, cache.entries[rank, entry].newer = newest, -1
    if newest < 0:
        cache.ends[rank, OLDEST] = entry
    else:
        cache.entries[rank, newest].newer = entry
    cache.ends[rank, NEWEST] = entry
    cache.ends[rank, IDLE] += 1
    return True


@compiled
def insert(cache: PrefixCache, rank: int, block: int) -> int:
    """A new block that one request uses; -1 when the cache has no entry left."""
    entry = cache.ends[rank, FREE]
    if entry < 0:
        if cache.ends[rank, IDLE] == 0:
            return -1
        entry = evict(cache, rank)
    cache.ends[rank, FREE] = cache.entries[rank, entry].newer
    cache.entries[rank, entry].id, cache.entries[rank, entry].holders = block, 1
    at = home(cache, block)
    while cache.table[rank, at] >= 0:
        at = (at + 1) & (cache.table.shape[1] - 1)
    cache.table[rank, at] = entry
    return entry


@compiled
def evict(cache: PrefixCache, rank: int) -> int:
    """Drop the longest idle block; returns its entry."""
    entry = cache.ends[rank, OLDEST]
    take_from_idle(cache, rank, entry)
    forget(cache, rank, entry)
    return entry


@compiled
def trim(cache: PrefixCache, rank: int, room: float) -> None:
    """Drop idle blocks until no more than `room` (blocks) of them are left."""
    while cache.ends[rank, IDLE] > max(room, 0.0):
        evict(cache, rank)
