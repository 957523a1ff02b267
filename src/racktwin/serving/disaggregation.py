"""The compiled loop over two pools: prompts in one, decoding in the other, caches in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import State
from racktwin.serving.flow import Flow, next_arrival, release, take_arrival
from racktwin.serving.handover import (
    DECODED,
    FLYING,
    PREFILLED,
    Handover,
    Side,
    arrive,
    depart,
    keep_source,
    line_up,
    scope_of,
)
from racktwin.serving.kernel import begin, end_step, enqueue
from racktwin.serving.routed import first_to_step
from racktwin.serving.router import deal, route
from racktwin.serving.sharing import room_for_units


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
            release(flow, number, result.finish, result.arrival)
            continue
        prompt = flow.prompt[number]
        cache = hand.queue[line_up(hand, scope_of(state, result.replica))]
        cache.arrival, cache.admitted, cache.first = result.arrival, result.admitted, result.first
        cache.number, cache.prompt, cache.output = number, prompt, flow.output[number]
        cache.left = cache.output - 1
        cache.cached, cache.losses = result.cached, result.losses
        cache.cached_host, cache.cached_shared = result.cached_host, result.cached_shared
        cache.priority = flow.priority[number]
        cache.replica, cache.rank = result.replica, result.rank
        keep_source(prefill, cache)


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
def come(prefill: Side, decode: Side, flow: Flow, time: float, number: int) -> bool:
    """A request comes to the prefill pool, as one of one token; False when its cache is short."""
    state, rules, policy = prefill.state, prefill.rules, prefill.policy
    prompt, urgency = flow.prompt[number], flow.priority[number]
    if rules.unit and not room_for_units(state, rules, prompt + 1):
        return False
    take_arrival(flow, number)
    scope = deal(state, decode.state)
    target = route(state, rules, policy, number, prompt, scope)
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
            depart(decode, hand, scope_of(prefill.state, first), one)
        elif other_ends and other == soonest:
            end_step(decode.state, decode.rules, second)
            collect_answers(decode, hand, flow)
            depart(decode, hand, scope_of(decode.state, second), other)
        elif landing == soonest:
            arrive(prefill, decode, hand, landing)
        elif time == soonest:
            if not come(prefill, decode, flow, time, number):
                return False
        elif one == soonest:
            begin(prefill.state, prefill.rules, prefill.clock, prefill.draft, first, one)
        else:
            begin(decode.state, decode.rules, decode.clock, decode.draft, second, other)
