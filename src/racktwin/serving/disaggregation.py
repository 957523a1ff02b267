"""The compiled loop over two pools: prompts in one, decoding in the other, caches in between.

A prefill replica keeps a finished cache until it has arrived. It leaves, first come first served,
when a rank of the decode pool has room for it, and queues for the network port of its replica.
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
from racktwin.serving.fleet import Floats, Ints, Rules, State, record
from racktwin.serving.flow import (
    Flow,
    first_to_step,
    next_arrival,
    pop,
    push,
    release,
    take_arrival,
)
from racktwin.serving.kernel import begin, end_step, enqueue
from racktwin.serving.router import route
from racktwin.serving.sharing import (
    give_units,
    make_way,
    room_for_units,
    take_units,
    units_of,
)

# A cache that waits to leave: of which request, where it lies, how large.
CACHE = record(
    floats="arrival admitted first",
    ints="number prompt output cached priority replica rank losses",
)


class Side(NamedTuple):
    """One of the two pools. policy: number of its router."""

    state: State
    rules: Rules
    clock: Clock
    draft: Draft
    policy: int


class Handover(NamedTuple):
    """Caches between the pools.

    queue: ring of caches that wait to leave. moving: by decode slot, the cache that is on its way
    (tokens).
    heap: (s of arrival, place in the order of leaving and slot). port: s from which the port of a
    prefill replica is free.
    landing: per decode rank, caches on their way. marks: head and length of the queue, heap size,
    results seen of each side, caches that left. start (s), pace (s/token): of a transfer.
    """

    queue: NDArray[Any]
    moving: NDArray[Any]
    heap: NDArray[Any]
    port: Floats
    landing: Ints
    marks: Ints
    start: float
    pace: float


HEAD, LENGTH, FLYING, PREFILLED, DECODED, LEFT = range(6)
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
def depart(decode: Side, hand: Handover, time: float) -> bool:
    """Let caches leave while the decode pool has room; False when its slots ran out."""
    state, rules = decode.state, decode.rules
    while hand.marks[LENGTH]:
        if state.counts[0] == 0:
            return False
        cache = hand.queue[hand.marks[HEAD]]
        replica = route(state, rules, decode.policy, cache.number, cache.prompt)
        rank = emptiest(decode, hand, replica)
        settle(state, rules, replica, rank)
        left = cache.output - 1
        wanted = blocks_of(cache.prompt + (left if rules.reserve == 1 else 0), rules)
        used = state.ranks[replica, rank].used + needed(state, rules, replica, rank)
        busy = state.ranks[replica, rank].running + hand.landing[replica, rank]
        if used + wanted > rules.blocks or busy >= rules.max_batch:
            return True
        slot = take_slot(state)
        fill(state, slot, cache, rank, wanted)
        state.ranks[replica, rank].used += wanted
        state.replicas[replica].outstanding += 1
        hand.landing[replica, rank] += 1
        hand.moving[slot] = cache
        leave = max(time, cache.first, hand.port[cache.replica])
        arrive = leave + hand.start + hand.pace * cache.prompt
        hand.port[cache.replica] = arrive
        state.slots[slot].held = wanted
        state.slots[slot].ends = replica
        push(hand.heap, hand.marks[FLYING], arrive, hand.marks[LEFT] << SLOT_BITS | slot)
        hand.marks[LEFT] += 1
        hand.marks[FLYING] += 1
        hand.marks[HEAD] = (hand.marks[HEAD] + 1) % len(hand.queue)
        hand.marks[LENGTH] -= 1
    return True


@compiled
def fill(state: State, slot: int, cache: Any, rank: int, wanted: int) -> None:
    """Make a decode slot of a cache: its prompt is computed, its first token given."""
    state.slots[slot].number, state.slots[slot].arrival = cache.number, cache.arrival
    state.slots[slot].admitted = cache.admitted
    state.slots[slot].first, state.slots[slot].second = cache.first, -1.0
    state.slots[slot].prompt, state.slots[slot].computed = cache.prompt, cache.prompt
    state.slots[slot].output, state.slots[slot].left = cache.output, cache.output - 1
    state.slots[slot].cached, state.slots[slot].priority = cache.cached, cache.priority
    state.slots[slot].begun, state.slots[slot].losses = -1, cache.losses
    state.slots[slot].rank, state.slots[slot].held = rank, wanted


@compiled
def keep_source(prefill: Side, cache: Any) -> None:
    """A cache stays where it was computed, its units held, until it has left."""
    state, rules = prefill.state, prefill.rules
    blocks = blocks_of(cache.prompt, rules)
    if rules.unit:
        units = min(units_of(state, cache.number), cache.prompt // rules.unit)
        take_units(state, rules, cache.replica, cache.rank, cache.number, units)
        blocks -= units * (rules.unit // rules.block)
    state.ranks[cache.replica, cache.rank].used += blocks


@compiled
def forget_source(prefill: Side, cache: Any) -> None:
    """A cache has left: its blocks are free where it was computed, its units idle."""
    state, rules = prefill.state, prefill.rules
    blocks = blocks_of(cache.prompt, rules)
    if rules.unit:
        units = min(units_of(state, cache.number), cache.prompt // rules.unit)
        blocks -= units * (rules.unit // rules.block)
        make_way(state, rules, cache.replica, cache.rank, 0.0)
        give_units(state, rules, cache.replica, cache.rank, cache.number, units)
    state.ranks[cache.replica, cache.rank].used -= blocks


@compiled
def arrive(prefill: Side, decode: Side, hand: Handover, time: float) -> None:
    """The first cache in flight has come: it decodes from the next step on, its source is free."""
    slot = hand.heap[0].number & ((1 << SLOT_BITS) - 1)
    pop(hand.heap, hand.marks[FLYING])
    hand.marks[FLYING] -= 1
    state, replica = decode.state, decode.state.slots[slot].ends
    rank = state.slots[slot].rank
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
    cache = hand.moving[slot]
    forget_source(prefill, cache)
    source = prefill.state.replicas
    if not source[cache.replica].busy and source[cache.replica].waiting:
        source[cache.replica].busy = 1
        source[cache.replica].now = time


@compiled
def collect_prompts(prefill: Side, hand: Handover, flow: Flow, done: NDArray[Any]) -> None:
    """Queue the caches of prompts that just ended; one-token answers are done."""
    state = prefill.state
    while hand.marks[PREFILLED] < state.counts[1]:
        result = state.results[hand.marks[PREFILLED]]
        hand.marks[PREFILLED] += 1
        number = result.number
        done[number] = 1
        if flow.output[number] == 1:
            release(flow, number, result.finish)
            continue
        prompt = flow.prompt[number]
        at = (hand.marks[HEAD] + hand.marks[LENGTH]) % len(hand.queue)
        cache = hand.queue[at]
        cache.arrival, cache.admitted, cache.first = result.arrival, result.admitted, result.first
        cache.number, cache.prompt, cache.output = number, prompt, flow.output[number]
        cache.cached, cache.losses = result.cached, result.losses
        cache.priority = flow.priority[number]
        cache.replica, cache.rank = result.replica, result.rank
        keep_source(prefill, cache)
        hand.marks[LENGTH] += 1


@compiled
def collect_answers(decode: Side, hand: Handover, flow: Flow) -> None:
    """Let finished requests release what waits for them."""
    state = decode.state
    while hand.marks[DECODED] < state.counts[1]:
        result = state.results[hand.marks[DECODED]]
        release(flow, result.number, result.finish)
        hand.marks[DECODED] += 1


@compiled
def scarce(state: State) -> bool:
    """Whether slots or room for results ran out."""
    return state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results)


@compiled
def come(prefill: Side, flow: Flow, time: float, number: int) -> bool:
    """A request comes to the prefill pool, as one of one token; False when its cache is short."""
    state, rules, policy = prefill.state, prefill.rules, prefill.policy
    prompt, urgency = flow.prompt[number], flow.priority[number]
    if rules.unit and not room_for_units(state, rules, prompt + 1):
        return False
    take_arrival(flow, number)
    target = route(state, rules, policy, number, prompt)
    enqueue(state, rules, target, number, time, prompt, 1, urgency, policy)
    return True


@compiled
def run_disaggregated(
    prefill: Side,
    decode: Side,
    hand: Handover,
    flow: Flow,
    done: NDArray[Any],
    until: float,
) -> bool:
    """Go on until everything before `until` (s) is done, in the order of time.

    At the same time steps end, those of the prefill pool first, then caches land, requests arrive,
    and steps begin. done: marks requests whose prompt is computed. False when slots or room for
    results ran out: collect the results, give more, and call again.
    """
    while True:
        if scarce(prefill.state) or scarce(decode.state):
            return False
        time, number = next_arrival(flow)
        landing = hand.heap[0].time if hand.marks[FLYING] else np.inf
        first, one, one_ends = first_to_step(prefill.state)
        second, other, other_ends = first_to_step(decode.state)
        soonest = min(time, landing, one, other)
        if soonest >= until:
            return True
        if one_ends and one == soonest:
            end_step(prefill.state, prefill.rules, first)
            collect_prompts(prefill, hand, flow, done)
            depart(decode, hand, one)
        elif other_ends and other == soonest:
            end_step(decode.state, decode.rules, second)
            collect_answers(decode, hand, flow)
            depart(decode, hand, other)
        elif landing == soonest:
            arrive(prefill, decode, hand, landing)
        elif time == soonest:
            if not come(prefill, flow, time, number):
                return False
        elif one == soonest:
            begin(prefill.state, prefill.rules, prefill.clock, prefill.draft, first, one)
        else:
            begin(decode.state, decode.rules, decode.clock, decode.draft, second, other)
