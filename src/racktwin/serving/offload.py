"""The tiers below the prefix caches: a part of host memory for each rank, one pool for all.

They lie in the arrays of the prefix caches, as places of their own: those of host memory behind
the ranks', the pool last. Nobody holds a unit there, so the idle list is the order of use.
"""

from __future__ import annotations

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import TO_HOST, TO_SHARED, Rules, State
from racktwin.serving.prefix_cache import (
    EACH,
    IDLE,
    OLDEST,
    drop,
    find,
    forget,
    put,
    take_from_idle,
    trim,
)


@compiled
def below(state: State, rules: Rules, place: int) -> int:
    """The place of the host memory that belongs to a rank's."""
    return len(state.replicas) * rules.ranks + place


@compiled
def pool_place(state: State, rules: Rules) -> int:
    """The place of the shared pool."""
    return 2 * len(state.replicas) * rules.ranks


@compiled
def spread(rules: Rules, tokens: int) -> int:
    """Entries that units of `tokens` tokens may take, in a rank's cache and in the tiers."""
    return (1 + (rules.host > 0) + (rules.shared > 0)) * (tokens // rules.unit)


@compiled
def put_in_host(state: State, rules: Rules, place: int, block: int) -> None:
    """A unit is used; the host memory below a rank's place takes it in."""
    new = put(state.cache, below(state, rules, place), block, rules.host)
    state.sums[TO_HOST] += new


@compiled
def shrink(state: State, rules: Rules, place: int, room: int) -> None:
    """Drop the longest idle units of a rank until no more than `room` are left.

    With `evict` they go to host memory.
    """
    if not rules.evict:
        trim(state.cache, place, room)
        return
    while state.cache.marks[EACH * place + IDLE] > room:
        entry = state.cache.marks[EACH * place + OLDEST]
        block = state.cache.entries[entry].id
        take_from_idle(state.cache, entry)
        forget(state.cache, entry)
        put_in_host(state, rules, place, block)


@compiled
def run_in(state: State, rules: Rules, place: int, row: int, begin: int, end: int) -> int:
    """How many of the units `begin` to `end` of a row a tier has, one behind the other."""
    first = state.known.rows[row].start
    unit = begin
    while unit < end and find(state.cache, place, state.known.ids[first + unit]) >= 0:
        unit += 1
    return unit - begin


@compiled
def use(state: State, rules: Rules, place: int, row: int, units: int) -> None:
    """The first `units` units of a row are used: the first of them stays longest in the tiers."""
    first = state.known.rows[row].start
    if rules.host and not rules.evict:
        for unit in range(units - 1, -1, -1):
            put_in_host(state, rules, place, state.known.ids[first + unit])
    if rules.shared:
        for unit in range(units - 1, -1, -1):
            block = state.known.ids[first + unit]
            new = put(state.cache, pool_place(state, rules), block, rules.shared)
            state.sums[TO_SHARED] += new


@compiled
def take_up(state: State, rules: Rules, place: int, row: int, begin: int, end: int) -> None:
    """Units `begin` to `end` of a row are loaded from host memory, which gives them up."""
    if rules.evict:
        first = state.known.rows[row].start
        for unit in range(begin, end):
            drop(state.cache, below(state, rules, place), state.known.ids[first + unit])


@compiled
def load_seconds(rules: Rules, host: float, shared: float) -> float:
    """How long a rank loads, s; host, shared: units of its host memory and of the pool (count).

    All cross the link to the GPU, and those of the pool its network port.
    """
    return max((host + shared) * rules.host_pace, shared * rules.shared_pace)
