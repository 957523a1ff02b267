"""Replicas of separate pools come and go: what becomes of the caches between them.

A prefill replica that fails loses the caches that wait on it or are on their way from it, a decode
replica those on their way to it too. Their requests come to the router again, and are prefilled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from racktwin.serving.blocks import settle
from racktwin.serving.chain import free_slot
from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import INTERRUPTED, LOST_TOKENS, State, wide
from racktwin.serving.flow import HELD, Flow, remove
from racktwin.serving.handover import (
    FLYING,
    HEAD,
    SLOT_BITS,
    WAITING,
    Handover,
    Side,
    depart,
    forget_source,
    lose_source,
    scope_of,
    step_out,
)
from racktwin.serving.recovery import keep_answer, leave, lose, readmit, remember, send_back
from racktwin.serving.resize import held_metric, tick
from racktwin.serving.routed import first_to_step
from racktwin.serving.scaling import OUTSTANDING
from racktwin.serving.standing import DRAINING, FAILED, NEXT, OPENED, next_change


@compiled
def lose_cache(state: State, flow: Flow, cache: Any, time: float) -> None:
    """A cache is lost at `time`, s, with a replica of this pool: its request begins again."""
    state.sums[INTERRUPTED] += 1
    state.sums[LOST_TOKENS] += cache.prompt
    remember(flow, cache)
    keep_answer(flow, cache.number, cache.prompt, cache.left + 1)  # its token was not told
    send_back(flow, cache.number, time + flow.detection)


@compiled
def lose_waiting(
    prefill: Side, hand: Handover, flow: Flow, begin: int, end: int, time: float
) -> None:
    """Caches that wait on prefill replicas from `begin` to `end` are lost at `time`, s."""
    scope = scope_of(prefill.state, begin)
    before, place = -1, hand.lines[scope, HEAD]
    while place >= 0:
        after = hand.queue[place].following
        if begin <= hand.queue[place].replica < end:
            step_out(hand, scope, before, place)
            lose_cache(prefill.state, flow, hand.queue[place], time)
            lose_source(prefill, hand, hand.queue[place])
        else:
            before = place
        place = after


@compiled
def first_lost(decode: Side, hand: Handover, begin: int, end: int, sources: bool) -> int:
    """The place of the cache on its way that left first of those `lose_flights` means; -1: none."""
    found, least = -1, np.int64(1) << 62
    for place in range(hand.marks[FLYING]):
        number = hand.heap[place].number
        slot = number & ((1 << SLOT_BITS) - 1)
        at = hand.moving[slot].replica if sources else decode.state.slots[slot].ends
        if begin <= at < end and number < least:
            found, least = place, number
    return found


@compiled
def lose_flights(
    prefill: Side,
    decode: Side,
    hand: Handover,
    flow: Flow,
    begin: int,
    end: int,
    time: float,
    sources: bool,
) -> None:
    """Caches on their way are lost at `time`, s: from, or to, the replicas from `begin` to `end`.

    sources: it is the prefill pool that these are of.
    """
    state = decode.state
    while True:
        place = first_lost(decode, hand, begin, end, sources)
        if place < 0:
            return
        slot = hand.heap[place].number & ((1 << SLOT_BITS) - 1)
        replica, rank = state.slots[slot].ends, wide(state.slots[slot].rank)
        remove(hand.heap, hand.marks[FLYING], place)
        hand.marks[FLYING] -= 1
        lose_cache(prefill.state if sources else state, flow, hand.moving[slot], time)
        if sources:
            lose_source(prefill, hand, hand.moving[slot])
        else:
            forget_source(prefill, hand, hand.moving[slot], time)
        settle(state, decode.rules, replica, rank)
        state.ranks[replica, rank].used -= state.slots[slot].held
        state.replicas[replica].outstanding -= 1
        hand.landing[replica, rank] -= 1
        free_slot(state, slot)


@compiled
def fail_prefill(
    prefill: Side, decode: Side, hand: Handover, flow: Flow, replica: int, time: float
) -> None:
    """A prefill replica is lost at `time`, s, with all caches that are not gone from it."""
    begin = replica * prefill.stand.stages
    end = begin + prefill.stand.stages
    lose_waiting(prefill, hand, flow, begin, end, time)
    lose_flights(prefill, decode, hand, flow, begin, end, time, True)
    lose(prefill.state, prefill.rules, flow, prefill.stand, replica, time, False)
    for stage in range(begin, end):
        hand.port[stage] = time


@compiled
def fail_decode(
    prefill: Side, decode: Side, hand: Handover, flow: Flow, replica: int, time: float
) -> None:
    """A decode replica is lost at `time`, s, with all caches that are on their way to it."""
    begin = replica * decode.stand.stages
    end = begin + decode.stand.stages
    lose_flights(prefill, decode, hand, flow, begin, end, time, False)
    for stage in range(begin, end):
        slot = decode.state.replicas[stage].landed
        while slot >= 0:  # their first token was told
            decode.state.slots[slot].prompt += 1
            slot = decode.state.slots[slot].after_in_step
    lose(decode.state, decode.rules, flow, decode.stand, replica, time, True)


@compiled
def alter(prefill: Side, decode: Side, hand: Handover, flow: Flow, time: float) -> None:
    """Let the next change of either pool that is due at `time`, s, happen."""
    if prefill.stand.times[NEXT] <= time:
        what, replica = next_change(prefill.state, prefill.stand, time)
        stages, state = prefill.stand.stages, prefill.state
        if what == FAILED:
            fail_prefill(prefill, decode, hand, flow, replica, time)
        elif replica < 0:
            held = held_metric(prefill.stand, flow)
            tick(prefill.state, prefill.rules, prefill.stand, held, time)
    else:
        what, replica = next_change(decode.state, decode.stand, time)
        stages, state = decode.stand.stages, decode.state
        if what == FAILED:
            fail_decode(prefill, decode, hand, flow, replica, time)
        elif replica < 0:
            waits = float(hand.marks[WAITING])
            held = waits if decode.stand.scaling.metric == OUTSTANDING else 0.0
            tick(decode.state, decode.rules, decode.stand, held, time)
    if what == OPENED:
        readmit(flow, time)
    if replica >= 0:
        depart(decode, hand, scope_of(state, replica * stages), time)


@compiled
def at_rest(prefill: Side, decode: Side, hand: Handover, flow: Flow) -> bool:
    """Whether no replica is busy, nothing is between them, and the router has nothing."""
    first, _, _ = first_to_step(prefill.state)
    second, _, _ = first_to_step(decode.state)
    between = hand.marks[WAITING] + hand.marks[FLYING] + flow.marks[HELD]
    return first < 0 and second < 0 and between == 0


@compiled
def leave_drained(prefill: Side, decode: Side, hand: Handover, time: float) -> None:
    """Let drained replicas that have nothing left at `time` (s) leave: no request and no cache."""
    for replica in range(len(prefill.stand.replicas)):
        if prefill.stand.replicas[replica].state == DRAINING:
            left = 0
            for stage in range(
                replica * prefill.stand.stages, (replica + 1) * prefill.stand.stages
            ):
                left += prefill.state.replicas[stage].outstanding + hand.kept[stage]
            if left == 0:
                leave(prefill.state, prefill.rules, prefill.stand, replica, time)
    for replica in range(len(decode.stand.replicas)):
        if decode.stand.replicas[replica].state == DRAINING:
            left = 0
            for stage in range(replica * decode.stand.stages, (replica + 1) * decode.stand.stages):
                left += decode.state.replicas[stage].outstanding
            if left == 0:
                leave(decode.state, decode.rules, decode.stand, replica, time)
