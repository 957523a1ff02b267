"""The compiled loop in which arrivals and replicas meet in the order of time.

Needed where the next arrival depends on what has been served: routers that look at the pool,
closed loops, sessions. (Round robin under open load does without: `kernel.run_round_robin`.)
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.batching import Draft
from racktwin.serving.clock import Clock
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.completion import end_step
from racktwin.serving.fleet import IDLE, Floats, Rules, State
from racktwin.serving.flow import HELD, SEEN, Flow, next_arrival, release, take_arrival
from racktwin.serving.kernel import advance, begin, enqueue
from racktwin.serving.lag import LAGGING, Lag, catch_up, first_to_stir, note_quiet, quiet_until
from racktwin.serving.recovery import (
    hold,
    leave_drained,
    lose,
    readmit,
    restore,
    to_compute,
)
from racktwin.serving.resize import held_metric, tick
from racktwin.serving.router import deal, noted, route
from racktwin.serving.sharing import room_for_units
from racktwin.serving.standing import DRAINED, FAILED, NEXT, OPENED, Standing, next_change


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


@inlined
def collect(state: State, flow: Flow) -> None:
    """Let the results not yet seen release what waits for them."""
    while flow.marks[SEEN] < state.counts[1]:
        result = state.results[flow.marks[SEEN]]
        release(flow, result.number, result.finish, result.arrival)
        flow.marks[SEEN] += 1


@compiled
def come(
    state: State,
    other: State,
    rules: Rules,
    flow: Flow,
    policy: int,
    number: int,
    time: float,
    whole: bool,
) -> None:
    """A request comes to the router at `time`, s, which sends it to a replica, or holds it.

    other: the pool that gives the answer: the same one, when it gives whole answers, or another.
    """
    target = choose(state, other, rules, flow, policy, number, time, state.window[:0])
    if target >= 0:
        place(state, rules, flow, policy, number, time, target, whole)


@inlined
def choose(
    state: State,
    other: State,
    rules: Rules,
    flow: Flow,
    policy: int,
    number: int,
    time: float,
    held: Floats,
) -> int:
    """The replica a request that comes at `time`, s, goes to; -1: it is held.

    held: see `router.route`.
    """
    take_arrival(flow, number)
    scope = deal(state, other)
    if scope < 0:
        hold(flow, number, time)
        return -1
    prompt, _ = to_compute(flow, number)
    return route(state, rules, policy, number, prompt, scope, held)


@inlined
def place(
    state: State,
    rules: Rules,
    flow: Flow,
    policy: int,
    number: int,
    time: float,
    target: int,
    whole: bool,
) -> None:
    """Send a request to replica `target` at `time`, s."""
    prompt, left = to_compute(flow, number)
    slot = enqueue(
        state,
        rules,
        target,
        number,
        time,
        prompt,
        left if whole else 1,
        flow.priority[number],
        policy,
    )
    if len(flow.again):
        restore(state, flow, number, slot, whole)


@compiled
def alter(state: State, rules: Rules, flow: Flow, stand: Standing, time: float) -> None:
    """Let the next change of a pool that is due at `time`, s, happen."""
    what, replica = next_change(state, stand, time)
    if what == FAILED:
        lose(state, rules, flow, stand, replica, time, True)
    elif what == OPENED:
        readmit(flow, time)
    elif replica < 0:
        tick(state, rules, stand, held_metric(stand, flow), time)
    if stand.marks[DRAINED]:
        leave_drained(state, rules, stand)


@compiled
def at_rest(state: State, flow: Flow) -> bool:
    """Whether no replica is busy and the router has nothing."""
    replica, _, _ = first_to_step(state)
    return replica < 0 and flow.marks[HELD] == 0


@inlined
def take_step(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    flow: Flow,
    stand: Standing,
    lag: Lag,
    soonest: float,
    until: float,
) -> bool:
    """End or begin the first step that does so before `soonest` and `until`, s; False: none does.

    One that ends at the same time is among them. Steps of pure decoding that begin before any other
    replica can end a request are begun together.
    """
    replica, at, ends = first_to_step(state)
    if ends and at <= soonest and at <= until:
        end_step(state, rules, replica)
    elif replica >= 0 and at < soonest and at < until:
        lag.quiet[replica] = np.inf
        ahead = at if rules.shared else min(soonest, until, first_to_stir(lag))
        begin(state, rules, clock, draft, replica, ahead)
    else:
        return False
    lag.quiet[replica] = quiet_until(state, rules, clock, replica)
    collect(state, flow)
    if stand.marks[DRAINED]:
        leave_drained(state, rules, stand)
    return True


@compiled
def run_routed(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    flow: Flow,
    stand: Standing,
    policy: int,
    releasing: bool,
    until: float,
    lag: Lag,
) -> bool:
    """Go on until all arrivals, changes and steps before `until` (s) are done.

    releasing: completions let requests in, so replicas go step by step in the order of time. At
    the same time steps end, replicas come and go, requests arrive, steps begin.
    lag: of the replicas.
    False when slots or room for results ran out: give more, and call again.
    """
    note_quiet(state, rules, clock, lag, releasing)
    lags = not releasing and policy in LAGGING
    lags = lags and stand.times[NEXT] == np.inf and stand.marks[DRAINED] == 0
    while True:
        time, number = next_arrival(flow)
        soonest = min(time, stand.times[NEXT])
        if not releasing:
            if lags and (number < 0 or time >= until):
                lag.quiet[:] = 0.0
            bound = min(soonest, until)
            catch_up(state, rules, clock, draft, lag, policy, soonest, bound, lags)
        elif take_step(state, rules, clock, draft, flow, stand, lag, soonest, until):
            continue
        if stand.marks[DRAINED]:
            leave_drained(state, rules, stand)
        change = stand.times[NEXT]
        if change <= time and change < until:
            if number < 0 and until == np.inf and at_rest(state, flow):
                return True
            alter(state, rules, flow, stand, change)
            note_quiet(state, rules, clock, lag, releasing)
            continue
        if number < 0 or time >= until:
            return True
        if state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results):
            return False
        tokens = flow.prompt[number] + flow.output[number]
        if rules.unit and not room_for_units(state, rules, tokens):
            return False
        held = lag.held[:0] if releasing else lag.held
        target = choose(state, state, rules, flow, policy, number, time, held)
        if target >= 0:
            if lags:
                advance(state, rules, clock, draft, target, time)
            place(state, rules, flow, policy, number, time, target, True)
            lag.quiet[target], lag.held[target] = time, noted(state, policy, target)
            if releasing:
                lag.quiet[target] = quiet_until(state, rules, clock, target)
