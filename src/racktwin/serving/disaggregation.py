"""The compiled loop over two pools: prompts in one, decoding in the other, caches in between."""

from __future__ import annotations

import numpy as np

from racktwin.serving.compiled import compiled
from racktwin.serving.completion import end_step
from racktwin.serving.fleet import State
from racktwin.serving.flow import Flow, next_arrival, release
from racktwin.serving.handover import (
    DECODED,
    FLYING,
    OWED,
    PREFILLED,
    Handover,
    Side,
    arrive,
    depart,
    keep_source,
    line_up,
    pay,
    scope_of,
)
from racktwin.serving.kernel import begin
from racktwin.serving.recovery import to_compute
from racktwin.serving.routed import come, first_to_step
from racktwin.serving.sharing import room_for_units
from racktwin.serving.standing import DRAINED, NEXT
from racktwin.serving.turnover import alter, at_rest, leave_drained


@compiled
def collect_prompts(prefill: Side, hand: Handover, flow: Flow) -> None:
    """Queue the caches of prompts that just ended, whose results then tell of no output.

    An answer that needs no more is done.
    """
    state = prefill.state
    while hand.marks[PREFILLED] < state.counts[1]:
        at = hand.marks[PREFILLED]
        hand.marks[PREFILLED] += 1
        result = state.results[at]
        number, output = result.number, flow.output[result.number]
        prompt, left = to_compute(flow, number)
        state.results[at].output = output if left == 1 else 0
        if left == 1:
            if output == 2 and result.second < 0:  # the first was told before
                state.results[at].second = result.finish
            release(flow, number, result.finish, result.arrival)
            continue
        cache = hand.queue[line_up(hand, scope_of(state, result.replica))]
        cache.arrival, cache.admitted = result.arrival, result.admitted
        cache.ready, cache.read, cache.second = result.finish, result.read, result.second
        cache.first = flow.again[number].first if len(flow.again) else -1.0
        cache.number, cache.prompt, cache.output, cache.left = number, prompt, output, left - 1
        cache.cached, cache.losses = result.cached, result.losses
        cache.cached_host, cache.cached_shared = result.cached_host, result.cached_shared
        cache.priority = flow.priority[number]
        cache.replica, cache.rank = result.replica, result.rank
        keep_source(prefill, hand, cache)


@compiled
def collect_answers(decode: Side, hand: Handover, flow: Flow) -> None:
    """Let finished requests release what waits for them."""
    state = decode.state
    while hand.marks[DECODED] < state.counts[1]:
        result = state.results[hand.marks[DECODED]]
        release(flow, result.number, result.finish, result.arrival)
        hand.marks[DECODED] += 1


@compiled
def scarce(state: State) -> bool:
    """Whether slots or room for results ran out."""
    return state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results)


@compiled
def run_disaggregated(
    prefill: Side, decode: Side, hand: Handover, flow: Flow, until: float
) -> bool:
    """Go on until everything before `until` (s) is done, in the order of time.

    At the same time steps end, those of the prefill pool first, then caches land, replicas come and
    go, requests arrive, and steps begin. False when slots or room for results ran out: collect the
    results, give more, and call again.
    """
    while True:
        if scarce(prefill.state) or scarce(decode.state):
            return False
        if hand.marks[OWED]:
            pay(decode, hand)
            continue
        time, number = next_arrival(flow)
        landing = hand.heap[0].time if hand.marks[FLYING] else np.inf
        first, one, one_ends = first_to_step(prefill.state)
        second, other, other_ends = first_to_step(decode.state)
        change = min(prefill.stand.times[NEXT], decode.stand.times[NEXT])
        soonest = min(time, landing, one, other, change)
        if soonest >= until:
            return True
        if one_ends and one == soonest:
            end_step(prefill.state, prefill.rules, first)
            collect_prompts(prefill, hand, flow)
            depart(decode, hand, scope_of(prefill.state, first), one)
        elif other_ends and other == soonest:
            end_step(decode.state, decode.rules, second)
            collect_answers(decode, hand, flow)
            depart(decode, hand, scope_of(decode.state, second), other)
        elif landing == soonest:
            arrive(prefill, decode, hand, landing)
        elif change == soonest:
            if until == np.inf and number < 0 and at_rest(prefill, decode, hand, flow):
                return True
            alter(prefill, decode, hand, flow, change)
        elif time == soonest:
            state, rules, policy = prefill.state, prefill.rules, prefill.policy
            if rules.unit and not room_for_units(state, rules, to_compute(flow, number)[0] + 1):
                return False
            come(state, decode.state, rules, flow, policy, number, time, False)
        elif one == soonest:
            begin(prefill.state, prefill.rules, prefill.clock, prefill.draft, first, one)
        else:
            begin(decode.state, decode.rules, decode.clock, decode.draft, second, other)
        if prefill.stand.marks[DRAINED] or decode.stand.marks[DRAINED]:
            leave_drained(prefill, decode, hand, soonest)
