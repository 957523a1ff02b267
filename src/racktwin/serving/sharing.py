"""Blocks that requests share through the prefix cache of their rank.

`used` counts a block once, however many running requests hold it; idle blocks are not in it. They
have the room that running requests leave. Blocks that decoding takes are counted late (see
`blocks`), so idle ones are dropped, up to date, whenever that could make a difference: before a
search and before blocks become free.
"""

from __future__ import annotations

from racktwin.serving.blocks import needed, settle
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import DECODES, Rules, State, wide
from racktwin.serving.offload import below, pool_place, run_in, shrink, spread, use
from racktwin.serving.prefix_cache import (
    ASKED,
    LEFT,
    MOST,
    OWED,
    find,
    hold,
    insert,
    let_go,
)


@compiled
def units_of(state: State, row: int) -> int:
    """Units of the prompt of a request whose ids are known."""
    return state.known.rows[row + 1].start - state.known.rows[row].start


@compiled
def make_way(state: State, rules: Rules, replica: int, rank: int, growth: float) -> None:
    """Drop idle units whose room a rank, settled, and `growth` blocks more need."""
    room = max(rules.blocks - state.ranks[replica, rank].used - growth, 0.0)
    weight = rules.unit // rules.block
    shrink(state, rules, replica * rules.ranks + rank, int(room // weight))


@inlined
def cached_units(
    state: State, rules: Rules, replica: int, rank: int, row: int, prompt: int
) -> tuple[int, int]:
    """Leading units of a prompt (tokens) in a rank's cache, and how many of them are idle.

    One token is left to compute.
    """
    most = min(units_of(state, row), (prompt - 1) // rules.unit)
    first, idle = state.known.rows[row].start, 0
    for unit in range(most):
        entry = find(state.cache, replica * rules.ranks + rank, state.known.ids[first + unit])
        if entry < 0:
            return unit, idle
        idle += state.cache.entries[entry].holders == 0
    return most, idle


@compiled
def lower_units(
    state: State, rules: Rules, replica: int, rank: int, row: int, prompt: int, units: int
) -> tuple[int, int]:
    """Units of a prompt (tokens) behind its first `units`: in host memory, then in the pool."""
    most = min(units_of(state, row), (prompt - 1) // rules.unit)
    place = below(state, rules, replica * rules.ranks + rank)
    host = run_in(state, rules, place, row, units, most) if rules.host else 0
    if rules.shared == 0:
        return host, 0
    place = pool_place(state, rules)
    return host, run_in(state, rules, place, row, units + host, most)


@inlined
def prefix_on(
    state: State, rules: Rules, replica: int, rank: int, row: int, prompt: int, credit: float
) -> float:
    """Leading units of a prompt (tokens) in a rank's cache as it is now.

    What the step under way needed room for went when it began. Behind them a unit in host memory
    counts as `credit` (1).
    """
    units, _ = cached_units(state, rules, replica, rank, row, prompt)
    if units == 0 and rules.host == 0:
        return 0.0
    left = state.cache.marks[LEFT]
    settle(state, rules, replica, rank)
    growth = 0.0
    if state.replicas[replica].under_way == DECODES and not state.ranks[replica, rank].reading:
        growth = needed(state, rules, replica, rank)
    make_way(state, rules, replica, rank, growth)
    if state.cache.marks[LEFT] != left or rules.host:
        units, _ = cached_units(state, rules, replica, rank, row, prompt)
    if rules.host:
        most = min(units_of(state, row), (prompt - 1) // rules.unit)
        place = below(state, rules, replica * rules.ranks + rank)
        return units + credit * run_in(state, rules, place, row, units, most)
    return float(units)


@compiled
def prefix_units(
    state: State, rules: Rules, replica: int, row: int, prompt: int, credit: float
) -> float:
    """Leading units of a prompt (tokens) on the rank of a replica that has most."""
    most = 0.0
    for rank in range(rules.ranks):
        most = max(most, prefix_on(state, rules, replica, rank, row, prompt, credit))
    return most


@compiled
def share(
    state: State, rules: Rules, replica: int, rank: int, row: int, begin: int, end: int
) -> int:
    """Let the cache have computed units `begin` to `end` of a row; its rank is settled.

    Of a unit that is there already the request's own copy goes. Returns the units it then holds.
    """
    weight, first = rules.unit // rules.block, state.known.rows[row].start
    make_way(state, rules, replica, rank, 0.0)
    for unit in range(begin, end):
        block = state.known.ids[first + unit]
        entry = find(state.cache, replica * rules.ranks + rank, block)
        if entry < 0:
            if not insert(state.cache, replica * rules.ranks + rank, block):
                return unit
        elif not hold(state.cache, entry):
            state.ranks[replica, rank].used -= weight
            state.replicas[replica].shared += weight
    return max(begin, end)


@compiled
def take_units(state: State, rules: Rules, replica: int, rank: int, row: int, units: int) -> None:
    """A request takes the first `units` units of its prompt from the cache."""
    weight, first = rules.unit // rules.block, state.known.rows[row].start
    for unit in range(units):
        block = state.known.ids[first + unit]
        if hold(state.cache, find(state.cache, replica * rules.ranks + rank, block)):
            state.ranks[replica, rank].used += weight
        else:
            state.replicas[replica].shared += weight


@compiled
def give_units(state: State, rules: Rules, replica: int, rank: int, row: int, units: int) -> None:
    """A request lets its units go, the last one first."""
    weight, first = rules.unit // rules.block, state.known.rows[row].start
    for unit in range(units - 1, -1, -1):
        block = state.known.ids[first + unit]
        if let_go(state.cache, find(state.cache, replica * rules.ranks + rank, block)):
            state.ranks[replica, rank].used -= weight
        else:
            state.replicas[replica].shared -= weight


@compiled
def free_blocks(state: State, rules: Rules, replica: int, slot: int, blocks: float) -> None:
    """A request gives back the `blocks` blocks it holds; its rank is settled."""
    rank = wide(state.slots[slot].rank)
    if rules.unit:
        units = wide(state.slots[slot].units)
        blocks -= units * (rules.unit // rules.block)
        make_way(state, rules, replica, rank, 0.0)
        give_units(state, rules, replica, rank, state.slots[slot].number, units)
        state.slots[slot].units = 0
    state.ranks[replica, rank].used -= blocks


@compiled
def leave_answer(state: State, rules: Rules, replica: int, slot: int, blocks: float) -> None:
    """A request has ended: its blocks, answer included, stay for the one that goes on from it."""
    row, rank = state.slots[slot].number, wide(state.slots[slot].rank)
    tokens = state.slots[slot].prompt + state.slots[slot].left  # of the last one nothing is kept
    state.cache.marks[OWED] -= spread(rules, tokens + 1)
    heir, units = state.known.rows[row].heir, wide(state.slots[slot].units)
    if heir < 0:
        free_blocks(state, rules, replica, slot, blocks)
        return
    end = min(tokens // rules.unit, units_of(state, heir))
    units = share(state, rules, replica, rank, heir, units, end)
    use(state, rules, replica * rules.ranks + rank, heir, end)
    give_units(state, rules, replica, rank, heir, units)
    state.slots[slot].units = 0
    state.ranks[replica, rank].used -= blocks - units * (rules.unit // rules.block)


@compiled
def room_for_units(state: State, rules: Rules, tokens: int) -> bool:
    """Whether the cache has entries for what a request of `tokens` tokens may bring."""
    marks, wanted = state.cache.marks, spread(rules, tokens)
    if wanted == 0 or marks[LEFT] - marks[OWED] >= wanted:
        return True
    if len(state.cache.entries) >= marks[MOST]:
        return True
    marks[ASKED] = wanted
    return False
