"""The compiled loop in which arrivals and replicas meet in the order of time.

Needed where the next arrival depends on what has been served: routers that look at the pool,
closed loops, sessions. (Round robin under open load does without: `kernel.run_round_robin`.)
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.batching import Draft
from racktwin.serving.clock import Clock
from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import IDLE, Rules, State
from racktwin.serving.flow import SEEN, Flow, next_arrival, release, take_arrival
from racktwin.serving.kernel import advance, begin, end_step, enqueue
from racktwin.serving.router import deal, route
from racktwin.serving.sharing import room_for_units


@compiled
def first_to_step(state: State) -> tuple[int, float, bool]:
    """The busy replica that ends or begins a step first, and when; whether it ends one.

    At the same time steps end before others begin. (-1, inf, False) when all are idle.
    """
    chosen, first, ends = -1, np.inf, False
    for replica in range(len(state.replicas)):
        if not state.replicas[replica].busy or state.replicas[replica].now > first:
            continue
        ending = state.replicas[replica].under_way != IDLE
        if state.replicas[replica].now < first or (ending and not ends):
            chosen, first, ends = replica, state.replicas[replica].now, ending
    return chosen, first, ends


@compiled
def collect(state: State, flow: Flow) -> None:
    """Let the results not yet seen release what waits for them."""
    while flow.marks[SEEN] < state.counts[1]:
        result = state.results[flow.marks[SEEN]]
        release(flow, result.number, result.finish, result.arrival)
        flow.marks[SEEN] += 1


@compiled
def run_routed(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    flow: Flow,
    policy: int,
    releasing: bool,
    until: float,
) -> bool:
    """Go on until all arrivals and steps before `until` (s) are done.

    releasing: completions let requests in, so replicas go step by step in the order of time. At
    the same time steps end, then requests arrive, then steps begin.
    False when slots or room for results ran out: give more, and call again.
    """
    while True:
        time, number = next_arrival(flow)
        if not releasing:
            for replica in range(len(state.replicas)):
                if state.replicas[replica].busy and state.replicas[replica].now <= time:
                    bound = min(time, until)
                    advance(state, rules, clock, draft, replica, bound)
        else:
            replica, at, ends = first_to_step(state)
            if ends and at <= time and at <= until:
                end_step(state, rules, replica)
                collect(state, flow)
                continue
            if replica >= 0 and at < time and at < until:
                begin(state, rules, clock, draft, replica, at)
                continue
        if number < 0 or time >= until:
            return True
        if state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results):
            return False
        prompt, output = flow.prompt[number], flow.output[number]
        if rules.unit and not room_for_units(state, rules, prompt + output):
            return False
        take_arrival(flow, number)
        target = route(state, rules, policy, number, prompt, deal(state, state))
        enqueue(
            state,
            rules,
            target,
            number,
            time,
            prompt,
            output,
            flow.priority[number],
            policy,
        )
