"""Caches on their way from prefill to decode ranks.

A prefill replica keeps a finished cache until it has arrived. Caches of a scope leave, first come
first served, when a rank of its decode replicas has room, and queue for the network port of their
replica.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.batching import Draft, start_decoding
from racktwin.serving.blocks import blocks_of, needed, settle
from racktwin.serving.chain import run, take_slot
from racktwin.serving.clock import Clock
from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Floats, Ints, Rules, State, record, wide
from racktwin.serving.flow import pop, push
from racktwin.serving.router import route, scopes
from racktwin.serving.sharing import give_units, make_way, take_units, units_of
from racktwin.serving.standing import Standing

# A cache that waits to leave: of which request, where it lies, how large; ready: s its prompt
# ended; first, second: s of tokens that the client has, from before a failure; left: tokens of the
# answer to come; following: the next in its line, -1 none.
CACHE = record(
    floats="arrival admitted ready first second read",
    ints="number prompt output left cached cached_host cached_shared priority replica rank losses "
    "following",
)


class Side(NamedTuple):
    """One of the two pools. policy: number of its router; stand: its replicas' coming and going."""

    state: State
    rules: Rules
    clock: Clock
    draft: Draft
    policy: int
    stand: Standing


class Handover(NamedTuple):
    """Caches between the pools.

    queue: caches that wait to leave; spare: stack of free places in it. lines: (scope) the first
    and the last of those that leave in turn, -1 none. moving: by decode slot, the cache that is on
    its way (tokens).
    kept: caches that each prefill replica still has.
    heap: (s of arrival, place in the order of leaving and slot). port: s from which the port of a
    prefill replica is free.
    landing: per decode rank, caches on their way. marks: caches that wait, spare places, heap size,
    results seen of each side, caches that left, the scope (from 1) whose caches were to leave at
    `due` (s) when decode slots ran out, 0 none. start (s), pace (s/token): of a transfer.
    """

    queue: NDArray[Any]
    spare: Ints
    lines: Ints
    kept: Ints
    moving: NDArray[Any]
    heap: NDArray[Any]
    port: Floats
    landing: Ints
    marks: Ints
    due: Floats
    start: float
    pace: float


WAITING, SPARE, FLYING, PREFILLED, DECODED, LEFT, OWED, MARKS = range(8)
HEAD, TAIL = range(2)  # of a line
SLOT_BITS = 32  # of a number in the heap that are the slot


@compiled
def emptiest(side: Side, hand: Handover, replica: int) -> int:
    """The rank of a decode replica with the fewest requests, those on their way counted."""
    rank, least = 0, np.int64(1) << 62
    for each in range(side.rules.ranks):
        record = side.state.ranks[replica, each]
        held = record.running + record.queued + hand.landing[replica, each]
        if held < least:
            rank, least = each, held
    return rank


@compiled
def line_up(hand: Handover, scope: int) -> int:
    """A place in the queue at the end of a scope's line; the caller has made sure there is one."""
    hand.marks[SPARE] -= 1
    place, tail = hand.spare[hand.marks[SPARE]], hand.lines[scope, TAIL]
    if tail < 0:
        hand.lines[scope, HEAD] = place
    else:
        hand.queue[tail].following = place
    hand.lines[scope, TAIL] = place
    hand.queue[place].following = -1
    hand.marks[WAITING] += 1
    return place


@compiled
def step_out(hand: Handover, scope: int, before: int, place: int) -> None:
    """Take the cache at a place, and behind the one at `before` (-1: none), out of its line."""
    after = hand.queue[place].following
    if before < 0:
        hand.lines[scope, HEAD] = after
    else:
        hand.queue[before].following = after
    if after < 0:
        hand.lines[scope, TAIL] = before
    hand.spare[hand.marks[SPARE]] = place
    hand.marks[SPARE] += 1
    hand.marks[WAITING] -= 1


@compiled
def scope_of(state: State, replica: int) -> int:
    """The scope a replica belongs to."""
    return replica * scopes(state) // len(state.replicas)


@compiled
def depart(decode: Side, hand: Handover, scope: int, time: float) -> None:
    """Let caches of a scope leave at `time`, s, or later while its decode replicas have room.

    When their slots run out the rest is owed: give more, and call `pay`.
    """
    state, rules = decode.state, decode.rules
    while hand.lines[scope, HEAD] >= 0:
        if state.counts[0] == 0:
            hand.marks[OWED], hand.due[0] = scope + 1, time
            return
        place = hand.lines[scope, HEAD]
        cache = hand.queue[place]
        replica = route(
            state, rules, decode.policy, cache.number, cache.prompt, scope, state.window[:0]
        )
        if replica < 0:
            return
        rank = emptiest(decode, hand, replica)
        settle(state, rules, replica, rank)
        wanted = blocks_of(cache.prompt + (cache.left if rules.reserve == 1 else 0), rules)
        used = state.ranks[replica, rank].used + needed(state, rules, replica, rank)
        busy = state.ranks[replica, rank].running + hand.landing[replica, rank]
        if used + wanted > rules.blocks or busy >= rules.max_batch:
            return
        slot = take_slot(state)
        fill(state, slot, cache, rank, wanted)
        state.ranks[replica, rank].used += wanted
        state.replicas[replica].outstanding += 1
        hand.landing[replica, rank] += 1
        hand.moving[slot] = cache
        leave = max(time, cache.ready, hand.port[cache.replica])
        arrive = leave + hand.start + hand.pace * cache.prompt
        hand.port[cache.replica] = arrive
        state.slots[slot].held = wanted
        state.slots[slot].ends = replica
        push(hand.heap, hand.marks[FLYING], arrive, hand.marks[LEFT] << SLOT_BITS | slot)
        hand.marks[LEFT] += 1
        hand.marks[FLYING] += 1
        step_out(hand, scope, -1, place)


@compiled
def pay(decode: Side, hand: Handover) -> None:
    """Let the caches leave that could not for want of decode slots, as of when they were to."""
    scope, hand.marks[OWED] = hand.marks[OWED] - 1, 0
    depart(decode, hand, scope, hand.due[0])


@compiled
def fill(state: State, slot: int, cache: Any, rank: int, wanted: int) -> None:
    """Make a decode slot of a cache: its prompt is computed, and gave a token."""
    state.slots[slot].number, state.slots[slot].arrival = cache.number, cache.arrival
    state.slots[slot].admitted = cache.admitted
    state.slots[slot].first, state.slots[slot].second = cache.first, cache.second
    state.slots[slot].read = cache.read
    state.slots[slot].prompt, state.slots[slot].computed = cache.prompt, cache.prompt
    state.slots[slot].output, state.slots[slot].left = cache.output, cache.left
    state.slots[slot].cached, state.slots[slot].priority = cache.cached, cache.priority
    state.slots[slot].cached_host = cache.cached_host
    state.slots[slot].cached_shared = cache.cached_shared
    state.slots[slot].begun, state.slots[slot].losses = -1, cache.losses
    state.slots[slot].rank, state.slots[slot].held = rank, wanted


@compiled
def keep_source(prefill: Side, hand: Handover, cache: Any) -> None:
    """A cache stays where it was computed, its units held, until it has left."""
    state, rules = prefill.state, prefill.rules
    hand.kept[cache.replica] += 1
    state.replicas[cache.replica].caching += cache.prompt
    blocks = blocks_of(cache.prompt, rules)
    if rules.unit:
        units = min(units_of(state, cache.number), cache.prompt // rules.unit)
        take_units(state, rules, cache.replica, cache.rank, cache.number, units)
        blocks -= units * (rules.unit // rules.block)
    state.ranks[cache.replica, cache.rank].used += blocks


@compiled
def lose_source(prefill: Side, hand: Handover, cache: Any) -> None:
    """A cache is lost with the replica that computed it: nobody holds its units."""
    state, rules = prefill.state, prefill.rules
    hand.kept[cache.replica] -= 1
    state.replicas[cache.replica].caching -= cache.prompt
    if rules.unit:
        units = min(units_of(state, cache.number), cache.prompt // rules.unit)
        give_units(state, rules, cache.replica, cache.rank, cache.number, units)


@compiled
def forget_source(prefill: Side, hand: Handover, cache: Any, time: float) -> None:
    """A cache has left by `time`, s: its blocks are free where it was computed, its units idle."""
    state, rules = prefill.state, prefill.rules
    hand.kept[cache.replica] -= 1
    state.replicas[cache.replica].caching -= cache.prompt
    blocks = blocks_of(cache.prompt, rules)
    if rules.unit:
        units = min(units_of(state, cache.number), cache.prompt // rules.unit)
        blocks -= units * (rules.unit // rules.block)
        make_way(state, rules, cache.replica, cache.rank, 0.0)
        give_units(state, rules, cache.replica, cache.rank, cache.number, units)
    state.ranks[cache.replica, cache.rank].used -= blocks
    if not state.replicas[cache.replica].busy and state.replicas[cache.replica].waiting:
        state.replicas[cache.replica].busy = 1
        state.replicas[cache.replica].now = time


@compiled
def arrive(prefill: Side, decode: Side, hand: Handover, time: float) -> None:
    """The first cache in flight has come: the decode side tells the token its prompt gave.

    It decodes from the next step on, and its source is free.
    """
    slot = hand.heap[0].number & ((1 << SLOT_BITS) - 1)
    pop(hand.heap, hand.marks[FLYING])
    hand.marks[FLYING] -= 1
    state, replica = decode.state, decode.state.slots[slot].ends
    rank = wide(state.slots[slot].rank)
    if state.slots[slot].first < 0:
        state.slots[slot].first = time
    elif state.slots[slot].second < 0 and state.slots[slot].output - state.slots[slot].left == 2:
        state.slots[slot].second = time
    hand.landing[replica, rank] -= 1
    run(state, replica, rank, slot)
    if not state.replicas[replica].busy:
        state.replicas[replica].busy = 1
        state.replicas[replica].now = time
    if state.replicas[replica].under_way:
        state.slots[slot].after_in_step = state.replicas[replica].landed
        state.replicas[replica].landed = slot
    else:
        start_decoding(state, decode.rules, replica, slot)
    forget_source(prefill, hand, hand.moving[slot], time)
